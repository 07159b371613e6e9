// Runs made by hand for tests: one weight, its output, its mask and its gradient, which drift as requested.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "matrix/base/number.hpp"
#include "matrix/numerics/steps/trajectory.hpp"

namespace reprobench::drifting {

inline constexpr int kSteps = 10;

inline TensorRecord tensor(const std::string& name, TensorRole role, double moved) {
  TensorRecord record{name, role, "float32", {4}, hex64(static_cast<std::uint64_t>(std::llround(moved * 1e12))), {}};
  record.sketch = TensorSketch{};
  record.sketch->l2 = 1;
  record.sketch->signed_sums[0] = 1 + moved;
  return record;
}

inline TensorRecord mask(int active) {
  TensorRecord record{"relu_active", TensorRole::mask, "bool", {64}, hex64(static_cast<std::uint64_t>(active)), {}};
  record.sketch = TensorSketch{};
  for (int i = 0; i < active; ++i) record.sketch->signed_sums[static_cast<std::size_t>(i)] = 1;
  return record;
}

// A run whose parameters are `drift` * step away from those of the plain one. From step `flip` on one more unit is
// active, and with it the loss is `jump` higher.
inline Trace run(double drift, int flip = 0, double jump = 0) {
  Trace trace;
  trace.header.workload_digest = std::string(32, 'a');
  for (int step = 1; step <= kSteps; ++step) {
    const bool flipped = flip > 0 && step >= flip;
    TensorsRecord tensors;
    tensors.step = step;
    tensors.tensors = {tensor("fc1.weight", TensorRole::parameter, drift * (step - 1)),
                       tensor("fc1", TensorRole::forward_output, drift * (step - 1)), mask(flipped ? 3 : 2),
                       tensor("fc1.weight", TensorRole::parameter_gradient, drift * step)};
    trace.tensors.push_back(tensors);
    StepRecord record;
    record.step = step;
    record.loss = exact_float(1.0 + drift * step + (flipped ? jump : 0));
    trace.steps.push_back(record);
  }
  TensorsRecord last;
  last.step = kSteps;
  last.is_final = true;
  last.tensors = {tensor("fc1.weight", TensorRole::parameter, drift * kSteps)};
  trace.tensors.push_back(last);
  return trace;
}

inline Envelope envelope(double drift, int flip = 0) {
  const Trace base = run(0);
  const Trace member = run(drift, flip);
  const Trace* members[] = {&member};
  return envelope_of(members, base, "torch-2.8.0-cu128");
}

// A run with nothing but these losses.
inline Trace with_losses(const std::vector<double>& losses) {
  Trace trace;
  for (const double loss : losses) {
    StepRecord record;
    record.step = static_cast<std::int64_t>(trace.steps.size()) + 1;
    record.loss = exact_float(loss);
    trace.steps.push_back(record);
  }
  return trace;
}

inline Trace constant(std::size_t steps, double loss = 1) { return with_losses(std::vector<double>(steps, loss)); }

}  // namespace reprobench::drifting

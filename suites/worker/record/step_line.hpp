// A step's trace line, written straight into text. It says the same as trace_line(to_json(StepRecord), seq); building
// the document first takes several microseconds, more than all digests of a small step.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "kernels/digest/digest.hpp"
#include "matrix/contract/trace.hpp"

namespace reprobench {

// A measured number with the width its bits are recorded in.
struct ExactValue {
  double value = 0;
  bool is_fp64 = false;
};

// The hex digits that represent the number in the trace (exact_float() of base/number.hpp).
std::string bits_of(const ExactValue& exact);

// StepRecord (contract/trace.hpp) with numbers for documents; equal names mean the same.
struct StepMeasurement {
  std::int64_t step = 0;
  ExactValue loss;
  std::optional<double> grad_norm;
  double learning_rate = 0;
  std::optional<double> loss_scale;
  std::int64_t samples = 0;
  std::int64_t step_time_ns = 0;
  PhaseTimes phases;
  std::int64_t rss_bytes = -1;
  std::int64_t anonymous_bytes = -1;
  std::int64_t allocated_bytes = -1;
  Digest root;
  Digest chain;
  std::map<std::string, std::int64_t> events;
  std::int64_t ended_ns = 0;
  std::optional<std::int64_t> block;
};

void append_step_line(std::string& text, const StepMeasurement& step, std::int64_t seq);

}  // namespace reprobench

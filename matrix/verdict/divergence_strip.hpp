// Layers x steps of two traces at a glance: which module's tensors differ in which step, and in which role first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/evidence/run_record.hpp"

namespace reprobench {

inline constexpr std::size_t kStripSteps = 64;

struct StripRow {
  std::string module;  // "h.0.ln_1": the tensor's name without its last part for parameters and optimiser slots
  std::string marks;   // one a step: '.' equal bits, else strip_mark() of the first role that differs
};

struct DivergenceStrip {
  std::vector<std::int64_t> steps;
  std::vector<StripRow> rows;  // in execution order
};

char strip_mark(TensorRole role);

// kStripSteps steps, a few of them before `first_step`, the first that differs. Without rows if the traces are of level
// `step`.
DivergenceStrip divergence_strip(const Trace& measured, const Trace& expected, std::int64_t first_step);

nlohmann::json to_json(const DivergenceStrip& strip);

}  // namespace reprobench

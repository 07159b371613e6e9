// Layers x steps of two traces at a glance: the modules and steps in which tensors differ, and the role that differs
// first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "matrix/contract/document/description.hpp"
#include "matrix/evidence/run_record.hpp"

namespace reprobench {

inline constexpr std::size_t kStripSteps = 64;

struct StripRow {
  std::string module;  // "h.0.ln_1": the tensor's name without its last part for parameters and optimiser slots
  std::string marks;   // one for each step: '.' equal bits, else strip_mark() of the first role that differs
};

template <>
struct Description<StripRow> {
  static constexpr About about = About::part("strip_row");
  static void fields(auto& field, StripRow& row) {
    field("module", row.module);
    field("marks", row.marks,
          rule::letters_of(".ipfmlgdsb").says("One a step: `.` equal bits, else the first role that differs."));
  }
};

struct DivergenceStrip {
  std::vector<std::int64_t> steps;
  std::vector<StripRow> rows;  // in execution order
};

template <>
struct Description<DivergenceStrip> {
  static constexpr About about = About::part("strip", "Layers and steps: which module's tensors differ where.");
  static void fields(auto& field, DivergenceStrip& strip) {
    field("steps", strip.steps, rule::up_to(kStripSteps, 1));
    field("rows", strip.rows, "In execution order.");
  }
};

char strip_mark(TensorRole role);

// The marks of kStripSteps steps, a few of them before `first_step`, the first that differs. Without rows if the traces
// are of level `step`.
DivergenceStrip divergence_strip(const Trace& measured, const Trace& expected, std::int64_t first_step);

}  // namespace reprobench

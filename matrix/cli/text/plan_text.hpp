// A plan as text for the terminal.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "matrix/cli/text/terminal.hpp"
#include "matrix/plan/compat_facts.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {

// "plan v2.9: 120 cells, 40 runnable, 80 skipped", for a selection "plan v2.9: 2 of 120 cells selected, 2 runnable,
// ...".
std::string plan_summary(const Plan& plan);

// The number of cells that the command line did not leave out, whether they can run here or not.
std::ptrdiff_t selected_cells(const Plan& plan);

// One line for each runnable cell, then the skipped ones, counted by rule and reason. The text comes in parts of about
// 64 KiB, each of whole lines.
void plan_table(const Plan& plan, const Terminal& terminal, const std::function<void(std::string_view)>& sink);

// Which part of each stack runs on the classes of GPUs that the plan names: "coverage torch-2.9.0-cu128: sm_90 compute
// native, collectives native", one line for each stack.
std::string coverage_text(const Plan& plan, const std::map<std::string, StackSpec>& stacks, const CompatFacts& facts);

// "device-class: needs a GPU of class sm_90, this host has none (40 cells)", one line for each distinct reason.
std::string skipped_by_reason(const Plan& plan);

}  // namespace reprobench

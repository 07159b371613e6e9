// A plan as text for the terminal.
#pragma once

#include <string>

#include "matrix/cli/terminal.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {

// "plan v2.9: 120 cells, 40 runnable, 80 skipped"
std::string plan_headline(const Plan& plan);

// One line a runnable cell, then the skipped ones counted by rule and reason.
std::string plan_table(const Plan& plan, const Terminal& terminal);

// "device-class: needs a GPU of class sm_90, this host has none (40 cells)", one line a distinct reason.
std::string skipped_by_reason(const Plan& plan);

}  // namespace reprobench

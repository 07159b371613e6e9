// After a run that failed: the command that finds out which stack between the reference and the candidate did it.
#pragma once

#include <string>

#include "matrix/cli/project.hpp"
#include "matrix/plan/plan.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// One line, for the first cell with a failed check that a bisect can ask again; empty if there is none, or if neither a
// stack nor a component that can be exchanged lies between the two.
std::string bisect_hint(const Project& project, const RunVerdict& verdict, const Plan& plan);

}  // namespace reprobench

// expand(), declared in plan.hpp, in the form resolve works on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "matrix/plan/plan.hpp"

namespace reprobench {

// The cells of expand(), each with neither skip nor note yet: 100,000 cells are not copied from one list to another.
std::vector<PlannedCell> expand_unresolved(const MatrixSpec& matrix, const std::map<std::string, SuiteSpec>& suites);

}  // namespace reprobench

// junit.xml: one test suite for each stack and one test case for each check, so that CI systems show a run without
// Python.
//
// failed -> <failure>, errored and inconclusive -> <error>, skipped and recorded -> <skipped>, each with its reason
// code as type; a record-only check is <skipped>, whatever it says. A cell whose outcome does not follow from its
// checks is one test case. The first test case is the verdict of the run, which is no sum of cells. Names are unique
// (GitLab keeps only the first of equal ones).
#pragma once

#include <string>

#include "matrix/verdict/verdict.hpp"

namespace reprobench {

std::string to_junit(const RunVerdict& verdict);

}  // namespace reprobench

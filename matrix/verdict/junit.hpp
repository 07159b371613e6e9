// junit.xml: one test suite a stack, one test case a check, so that CI systems show a run without Python.
//
// failed -> <failure>, errored and inconclusive -> <error>, skipped -> <skipped>, each with its reason code as type. A
// cell without checks is one test case. Names are unique (GitLab keeps only the first of equal ones).
#pragma once

#include <string>

#include "matrix/verdict/verdict.hpp"

namespace reprobench {

std::string to_junit(const RunVerdict& verdict);

}  // namespace reprobench

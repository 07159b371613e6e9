// junit.xml: one test suite a stack, one test case a check, so that CI systems show a run without Python.
//
// failed -> <failure>, errored and inconclusive -> <error>, skipped and recorded -> <skipped>, each with its reason
// code as type; a record-only check is <skipped>, whatever it says. A cell whose checks do not say its outcome is one
// test case; the first of all is the verdict of the run, which is no sum of cells. Names are unique (GitLab keeps only
// the first of equal ones).
#pragma once

#include <string>

#include "matrix/verdict/verdict.hpp"

namespace reprobench {

std::string to_junit(const RunVerdict& verdict);

}  // namespace reprobench

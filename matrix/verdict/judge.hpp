// From what happened to what it means: every planned cell gets exactly one outcome. Pure; works on any old run
// directory.
#pragma once

#include "matrix/verdict/verdict.hpp"

namespace reprobench {

RunVerdict judge(const RunRecord& run);

}  // namespace reprobench

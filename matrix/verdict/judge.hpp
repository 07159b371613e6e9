// From what happened to what it means: every planned cell gets exactly one outcome. Pure; works on any old run
// directory.
#pragma once

#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// Throws StoreError if a trace that was whole when its attempt ended can no longer be read.
RunVerdict judge(const RunRecord& run);

}  // namespace reprobench

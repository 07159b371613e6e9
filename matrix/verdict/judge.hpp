// From what happened to what it means: every planned cell gets exactly one outcome. Pure; works on any old run
// directory.
#pragma once

#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// Throws StoreError if a trace that was whole when its attempt ended can no longer be read.
RunVerdict judge(const RunRecord& run);

// "weight_ulp at step 20, fc1.weight[5] in 2 cells": the faults that are planted in cells that are to run; empty if
// there are none. A run of a plan with a fault is a drill and never qualifies.
std::vector<std::string> planted_faults(const Plan& plan);

}  // namespace reprobench

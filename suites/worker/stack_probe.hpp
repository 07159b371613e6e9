// The stack that this process really runs on, as the fingerprint of results and of `describe`.
#pragma once

#include <string>

#include "matrix/contract/result.hpp"

namespace reprobench {

// Call after the first operations, when everything lazy is loaded. Paths of libraries inside a stack's site folder are
// relative to the folder that holds it.
Fingerprint probe_stack();

// Version LibTorch gives itself; empty if it does not say.
std::string loaded_torch_version();

// Vector instructions ATen dispatches to, in its own words: "AVX2", "AVX512", "NO AVX" ...
std::string cpu_capability();

// The BLAS this process has loaded: "mkl" (inside LibTorch), "openblas", "blis", "atlas", "netlib" or "unknown".
std::string loaded_blas();

// The text that follows `key` in LibTorch's configuration text, up to a comma, a bracket or the end of the line.
std::string config_value(const std::string& config, const std::string& key);

}  // namespace reprobench

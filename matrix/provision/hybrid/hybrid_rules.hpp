// Whether the libraries of a hybrid may meet in one process. The files are checked before anything is written. Each
// answer names the library, its stack, and what it lacks.
//
//   soname     a component that torch opens by name (cuDNN's parts, NVRTC, CUPTI) has every name, with its number, that
//              torch's own stack has: cuDNN 8 is no cuDNN 9
//   needed     what a library needs, and its own stack has, is in the hybrid too
//   versions   the versions of symbols that it needs of a library are defined by the one that it meets
//   symbols    so is every symbol that it takes from the one of its own stack: an older NCCL or cuDNN lacks functions
//              that a newer torch calls
#pragma once

#include <string>
#include <vector>

#include "matrix/provision/hybrid/hybrid_site.hpp"

namespace reprobench {

// One sentence for each problem; none if the libraries may meet. Only names and versions are read. No file says whether
// a function still does the same.
std::vector<std::string> find_abi_problems(const HybridSite& hybrid);

}  // namespace reprobench

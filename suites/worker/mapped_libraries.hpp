// The shared libraries really in this process, from /proc/self/maps, whatever was declared or linked.
#pragma once

#include <string>
#include <vector>

namespace reprobench {

// Absolute paths of all mapped shared objects, each once, sorted.
std::vector<std::string> mapped_shared_objects();

// Path of the mapped object whose file name begins with `prefix`; empty if none is mapped.
std::string find_mapped(const std::vector<std::string>& paths, const std::string& prefix);

// True for objects that can change a training run's bits or speed: torch, CUDA, BLAS, oneDNN, OpenMP, C and C++
// runtime.
bool is_stack_library(const std::string& path);

}  // namespace reprobench

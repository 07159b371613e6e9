// Where the CUDA driver's library is found by LD_LIBRARY_PATH alone, as in images that put it in a folder of their own.
#pragma once

#include <string>

namespace reprobench {

// The first folder of this process's LD_LIBRARY_PATH that holds libcuda.so.1; empty: none does, and the loader finds
// the driver where it always is, or nowhere.
std::string driver_folder();

}  // namespace reprobench

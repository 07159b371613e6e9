// Where the CUDA driver's library is found by LD_LIBRARY_PATH alone, as in images that put it in a folder of their own
// (/usr/local/nvidia/lib64), or where a host's driver is mounted (/usr/lib/wsl/lib).
#pragma once

#include <filesystem>
#include <string>

namespace reprobench {

// The first folder of this process's LD_LIBRARY_PATH that holds a libcuda.so.1 of this host. Empty: none does, or it is
// a default folder of the loader; the loader then finds the driver where it always is, or nowhere.
std::string driver_folder();

// Whether the file begins as a 64-bit library does. The loader passes over others: /usr/local/nvidia/lib may hold the
// driver's 32-bit libraries.
bool is_library_of_host(const std::filesystem::path& file);

}  // namespace reprobench

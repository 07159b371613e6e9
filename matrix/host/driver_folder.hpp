// The folder of the CUDA driver's library if only LD_LIBRARY_PATH leads to it. Some images put it in a folder of their
// own (/usr/local/nvidia/lib64), and some hosts' drivers are mounted (/usr/lib/wsl/lib).
#pragma once

#include <filesystem>
#include <string>

namespace reprobench {

// The first folder of this process's LD_LIBRARY_PATH that holds a libcuda.so.1 of this host. Empty if none does, or if
// it is a default folder of the loader. The loader then finds the driver in its usual place, or not at all.
std::string driver_folder();

// Whether the file begins as a 64-bit library does. The loader ignores others: /usr/local/nvidia/lib may hold the
// driver's 32-bit libraries.
bool is_library_of_host(const std::filesystem::path& file);

}  // namespace reprobench

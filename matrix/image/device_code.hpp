// The GPUs for which a library has code, read from the fat binaries in its file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace reprobench {

// A program is the kernels of one source file. Some programs are for a few GPUs alone, so a library counts as made for
// a GPU only if most of its programs are.
struct DeviceCode {
  std::map<int, int> machine_code;  // 90 for sm_90: the number of programs that have it
  std::map<int, int> ptx;           // 120 for compute_120: the same
  int programs = 0;
  std::string problem;  // "is no 64-bit ELF file", "its fat binaries are damaged"; then both may lack some
};

DeviceCode read_device_code(const std::filesystem::path& library);

// "8.0", "9.0", "12.0", "12.0+PTX", in order: the code that at least half of the programs have.
std::vector<std::string> capability_names(const DeviceCode& code);

}  // namespace reprobench

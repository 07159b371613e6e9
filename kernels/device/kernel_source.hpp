// Device code as text inside this binary, so that a worker needs no files beside it. The table is written by
// kernels/KernelTable.cmake from the `.cu` files in the folders of kernels/.
#pragma once

#include <span>
#include <string_view>

namespace reprobench {

struct KernelHeader {
  std::string_view name;  // as the include line spells it
  std::string_view text;
};

// One module: a folder's `.cu` file, every project header that it includes, and the kernels it defines.
struct KernelSource {
  std::string_view module;  // the folder
  std::string_view text;
  std::span<const KernelHeader> headers;
  std::span<const std::string_view> kernels;
};

// All modules, in the order of their names.
std::span<const KernelSource> kernel_sources();

// Throws std::out_of_range where there is no such module.
const KernelSource& kernel_source(std::string_view module);

}  // namespace reprobench

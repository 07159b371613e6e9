#include "kernels/device/kernel_source.hpp"

#include <stdexcept>
#include <string>

namespace reprobench {

const KernelSource& kernel_source(std::string_view module) {
  for (const KernelSource& source : kernel_sources()) {
    if (source.module == module) return source;
  }
  throw std::out_of_range("no device code in a folder " + std::string(module));
}

}  // namespace reprobench

// The release of a PyTorch: its declared version, that of its headers, and how it was compiled.
#pragma once

#include <string>
#include <string_view>

#include "matrix/provision/torch_place.hpp"

namespace reprobench {

struct TorchRelease {
  std::string declared;   // "2.9.0+cu128" of version.py or build-version; else `compiled`
  std::string compiled;   // "2.9.0" of torch/version.h; empty if there are no headers
  std::string cuda;       // "12.8"; empty for a build without CUDA
  int cxx11_abi = 1;      // _GLIBCXX_USE_CXX11_ABI of its libraries
  int cxx_standard = 17;  // the oldest that its headers accept
};

// The value that the text of a Python file assigns to `name`, without quotes; empty for None. The line is `cuda:
// Optional[str] = '13.0'` or `cuda = '12.1'`.
std::string python_assignment(const std::string& text, std::string_view name);

TorchRelease read_torch_release(const TorchPlace& place);

// "2.9.0" for "2.9.0+cu128".
std::string without_local_part(const std::string& version);

// "9.10.2" for "9.10.2.21" and 3.
std::string leading_numbers(const std::string& version, int count);

}  // namespace reprobench

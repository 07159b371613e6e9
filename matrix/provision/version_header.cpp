#include "matrix/provision/version_header.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/regular_file.hpp"

namespace reprobench {

std::string defined_version(const std::filesystem::path& header, const std::vector<std::string>& names) {
  constexpr std::int64_t kLargestHeaderBytes = 1 << 20;
  std::istringstream stream(read_regular_file(header, kLargestHeaderBytes).text);
  std::vector<std::string> numbers(names.size());
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string define, name, value;
    if (!(words >> define >> name >> value) || define != "#define") continue;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) numbers[found - names.begin()] = value;
  }
  if (std::find(numbers.begin(), numbers.end(), "") != numbers.end()) return "";
  return fmt::format("{}", fmt::join(numbers, "."));
}

std::string torch_header_version(const std::vector<std::string>& include_dirs) {
  constexpr std::array<const char*, 3> kHeaders = {"torch/version.h", "torch/headeronly/version.h",
                                                   "torch/csrc/api/include/torch/version.h"};
  for (const std::string& folder : include_dirs) {
    for (const char* header : kHeaders) {
      const std::string version =
          defined_version(std::filesystem::path(folder) / header,
                          {"TORCH_VERSION_MAJOR", "TORCH_VERSION_MINOR", "TORCH_VERSION_PATCH"});
      if (!version.empty()) return version;
    }
  }
  return "";
}

}  // namespace reprobench

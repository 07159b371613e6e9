// Versions as C headers define them, number by number.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace reprobench {

// "1.13.0" for `#define TORCH_VERSION_MAJOR 1` and its siblings, in the order of `names`; empty if the file lacks one.
std::string defined_version(const std::filesystem::path& header, const std::vector<std::string>& names);

// The version in torch/version.h of the first of `include_dirs` that has one; empty if none has.
std::string torch_header_version(const std::vector<std::string>& include_dirs);

}  // namespace reprobench

#include "suites/worker/mapped_libraries.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

namespace reprobench {
namespace {

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

}  // namespace

std::vector<std::string> mapped_shared_objects() {
  std::set<std::string> paths;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto slash = line.find('/');
    if (slash == std::string::npos) continue;
    const std::string path = line.substr(slash);
    if (file_name(path).find(".so") != std::string::npos) paths.insert(path);
  }
  return {paths.begin(), paths.end()};
}

std::string find_mapped(const std::vector<std::string>& paths, const std::string& prefix) {
  const auto found = std::find_if(paths.begin(), paths.end(),
                                  [&](const std::string& path) { return file_name(path).starts_with(prefix); });
  return found == paths.end() ? "" : *found;
}

bool is_stack_library(const std::string& path) {
  static constexpr std::string_view kPrefixes[] = {
      "libtorch", "libc10",    "libcu",       "libnv",     "libnccl",   "libcaffe2",   "libmkl",
      "libblas",  "liblapack", "libopenblas", "libblis",   "libatlas",  "libgfortran", "libgomp",
      "libomp",   "libiomp5",  "libdnnl",     "libstdc++", "libm.so",   "libmvec",     "libc.so",
      "libgcc_s", "ld-linux",  "libcublas",   "libsleef",  "libXNNPACK"};
  const std::string name = file_name(path);
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace reprobench

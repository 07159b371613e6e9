#include "matrix/provision/system_stack.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/exec/subprocess.hpp"

namespace reprobench {
namespace {

constexpr std::array<const char*, 3> kVersionHeaders = {"torch/version.h", "torch/headeronly/version.h",
                                                        "torch/csrc/api/include/torch/version.h"};
constexpr std::array<const char*, 2> kLibraries = {"libtorch_cpu.so", "libc10.so"};

struct TorchVersion {
  std::string major, minor, patch;
  std::string text() const { return fmt::format("{}.{}.{}", major, minor, patch); }
};

// The numbers behind `#define TORCH_VERSION_MAJOR 1` and its siblings.
std::optional<TorchVersion> read_version_header(const std::filesystem::path& file) {
  std::ifstream stream(file);
  TorchVersion version;
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string define, name, value;
    if (!(words >> define >> name >> value) || define != "#define") continue;
    if (name == "TORCH_VERSION_MAJOR") version.major = value;
    if (name == "TORCH_VERSION_MINOR") version.minor = value;
    if (name == "TORCH_VERSION_PATCH") version.patch = value;
  }
  if (version.major.empty() || version.minor.empty() || version.patch.empty()) return std::nullopt;
  return version;
}

std::optional<TorchVersion> find_header_version(const std::vector<std::string>& include_dirs) {
  for (const std::string& folder : include_dirs) {
    for (const char* header : kVersionHeaders) {
      if (auto version = read_version_header(std::filesystem::path(folder) / header)) return version;
    }
  }
  return std::nullopt;
}

// "1.13.1" of "2:1.13.1+dfsg-4".
std::string upstream_version(std::string version) {
  if (const std::size_t colon = version.find(':'); colon != std::string::npos) version.erase(0, colon + 1);
  return version.substr(0, version.find_first_of("+-~"));
}

bool has_library(const std::vector<std::string>& folders, const char* library) {
  for (const std::string& folder : folders) {
    if (std::filesystem::exists(std::filesystem::path(folder) / library)) return true;
  }
  return false;
}

}  // namespace

std::string installed_package_version(const std::string& package) {
  const std::string dpkg_query = find_in_path("dpkg-query");
  if (dpkg_query.empty()) return "";
  SubprocessOptions options;
  options.command = {dpkg_query, "--show", "--showformat=${db:Status-Status} ${Version}", package};
  const SubprocessResult result = run_subprocess(options);
  constexpr std::string_view kInstalled = "installed ";
  return result.exit_code == 0 && result.out.starts_with(kInstalled) ? result.out.substr(kInstalled.size()) : "";
}

std::string find_system_problem(const StackSpec& spec, const PackageVersion& package_version) {
  const std::string missing = fmt::format("{} {} is not installed", spec.package, spec.package_version);
  const auto header = find_header_version(spec.include_dirs);
  if (!header) {
    return fmt::format("{}; no torch/version.h in {}", missing, fmt::join(spec.include_dirs, ", "));
  }
  if (header->text() != spec.package_version) {
    const bool same_minor = spec.package_version.starts_with(fmt::format("{}.{}.", header->major, header->minor));
    const std::string package = same_minor ? upstream_version(package_version(spec.package)) : "";
    if (package != spec.package_version) {
      return fmt::format("{}; found {}", missing, package.empty() ? header->text() : package);
    }
  }
  for (const char* library : kLibraries) {
    if (has_library(spec.library_dirs, library)) continue;
    return fmt::format("{}; its headers are there, but no {} in {}", missing, library,
                       fmt::join(spec.library_dirs, ", "));
  }
  return "";
}

}  // namespace reprobench

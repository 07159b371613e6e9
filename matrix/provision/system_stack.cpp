#include "matrix/provision/system_stack.hpp"

#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/exec/subprocess.hpp"
#include "matrix/provision/adopted_stack.hpp"
#include "matrix/provision/version_header.hpp"

namespace reprobench {
namespace {

constexpr std::array<const char*, 2> kLibraries = {"libtorch_cpu.so", "libc10.so"};

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

std::string folder_not_of_system(const StackSpec& spec) {
  namespace fs = std::filesystem;
  if (spec.source != StackSource::system) return "";
  for (const auto* folders : {&spec.include_dirs, &spec.library_dirs}) {
    for (const std::string& folder : *folders) {
      const std::string real = fs::weakly_canonical(folder).string() + "/";
      if (!real.starts_with("/usr/") && !real.starts_with("/lib/") && !real.starts_with("/lib64/")) return folder;
    }
  }
  return "";
}

std::string find_system_problem(const StackSpec& spec, const PackageVersion& package_version) {
  if (spec.is_adopted()) return find_adopted_problem(spec);
  const std::string missing = fmt::format("{} {} is not installed", spec.package, spec.package_version);
  const std::string header = torch_header_version(spec.include_dirs);
  if (header.empty()) {
    return fmt::format("{}; no torch/version.h in {}", missing, fmt::join(spec.include_dirs, ", "));
  }
  if (header != spec.package_version) {
    const bool same_minor = spec.package_version.starts_with(header.substr(0, header.rfind('.') + 1));
    const std::string package = same_minor ? upstream_version(package_version(spec.package)) : "";
    if (package != spec.package_version) {
      return fmt::format("{}; found {}", missing, package.empty() ? header : package);
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

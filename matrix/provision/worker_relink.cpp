#include "matrix/provision/worker_relink.hpp"

#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/elf_library.hpp"
#include "matrix/exec/helper_environment.hpp"
#include "matrix/exec/subprocess.hpp"
#include "matrix/provision/library_check.hpp"
#include "matrix/provision/provision_error.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOfCmake[] = {"CMAKE_*"};

// From workers/KEY/, where the worker lies. Never longer than what it stands for, which begins with a stack's folder.
constexpr const char* kOwnSite = "$ORIGIN/../../site";

std::string relative_to_worker(const std::vector<std::string>& folders, const std::string& site) {
  std::vector<std::string> changed;
  for (const std::string& folder : folders) {
    changed.push_back(folder.starts_with(site + "/") ? kOwnSite + folder.substr(site.size()) : folder);
  }
  return fmt::format("{}", fmt::join(changed, ":"));
}

}  // namespace

void link_for_own_site(const fs::path& worker, const fs::path& build_folder, const fs::path& shepherd) {
  const fs::path linked = linked_site(worker);
  const auto elf = read_elf_library(worker);
  if (linked.empty() || !elf) {
    throw ProvisionError(fmt::format("{} names no folder of a stack", worker.string()));
  }
  const std::string site = linked.parent_path().parent_path().string();
  const std::vector<std::string>& folders = elf->rpath.empty() ? elf->runpath : elf->rpath;
  fs::create_directories(build_folder);
  // CMake does the same to every program that it installs.
  const fs::path script = build_folder / "relink.cmake";
  std::ofstream(script) << fmt::format("file(RPATH_CHANGE FILE [==[{}]==] OLD_RPATH [==[{}]==] NEW_RPATH [==[{}]==])\n",
                                       worker.string(), fmt::join(folders, ":"), relative_to_worker(folders, site));
  SubprocessOptions options;
  options.command = {find_in_path("cmake"), "-P", script.string()};
  if (options.command.front().empty()) throw ProvisionError("cmake was not found, the worker cannot be linked anew");
  options.environment = helper_environment(kOfCmake);
  options.working_directory = build_folder.string();
  options.shepherd = shepherd.string();
  const SubprocessResult result = run_subprocess(options);
  if (result.exit_code == 0) return;
  throw ProvisionError(
      fmt::format("{} could not be linked for another folder: {}{}", worker.string(), result.err, result.launch_error));
}

}  // namespace reprobench

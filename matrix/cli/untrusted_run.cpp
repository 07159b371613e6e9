#include "matrix/cli/untrusted_run.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "matrix/exec/subprocess.hpp"
#include "matrix/spec/checkout.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

// Why what lies there may be another's work; empty if it may not.
std::string not_own(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return fmt::format("{} cannot be looked at", path.string());
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    return fmt::format("{} belongs to user {}", path.string(), status.st_uid);
  }
  const bool is_of_own_group = status.st_gid == getegid() || status.st_gid == 0;  // a group of one user's own is common
  const mode_t others = is_of_own_group ? S_IWOTH : S_IWGRP | S_IWOTH;
  if ((status.st_mode & others) != 0) return fmt::format("others may write to {}", path.string());
  return "";
}

// The same for a folder above. There, in one such as /tmp, the sticky bit keeps everyone to what is his own.
std::string may_be_swapped(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return errno == ENOENT ? "" : not_own(path);  // this run makes it
  if ((status.st_mode & S_ISVTX) != 0 && status.st_uid == 0) return "";
  return not_own(path);
}

// A folder and those above it, by the name that it was given and by the one that it has once links are followed.
std::vector<fs::path> folder_and_above(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::path path : {fs::absolute(folder).lexically_normal(), fs::weakly_canonical(folder, error)}) {
    for (;; path = path.parent_path()) {
      found.push_back(path);
      if (path == path.root_path()) break;
    }
  }
  return found;
}

void require_own_folders_above(const Project& project) {
  for (const fs::path& home : {project.store() / "runs", project.stacks_home()}) {
    for (const fs::path& folder : folder_and_above(home.parent_path())) {
      const std::string problem = may_be_swapped(folder);
      if (problem.empty()) continue;
      throw UsageError(fmt::format("--untrusted: {}, and so may swap what lies in {}", problem, home.string()));
    }
  }
}

std::int64_t whole_seconds(std::chrono::milliseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

void require_allowed(const Cell& cell, const UntrustedPolicy& policy) {
  const auto refuse = [&](const std::string& why) { throw UsageError("--untrusted: " + cell.slug + " " + why); };
  const CellRequest& request = cell.request;
  if (request.device != "cpu") refuse("needs a GPU, and none is handed to such a worker; choose with --device cpu");
  if (!policy.stacks.empty() && !policy.stacks.contains(request.stack)) {
    refuse(fmt::format("runs on {}, which is none of the policy's stacks", request.stack));
  }
  if (!policy.workloads.empty() && !policy.workloads.contains(request.workload.name())) {
    refuse(fmt::format("runs {}, which is none of the policy's workloads", request.workload.name()));
  }
  if (cell.limits.total > policy.attempt) {
    refuse(fmt::format("may take {} s an attempt, and at most {} s are allowed", whole_seconds(cell.limits.total),
                       whole_seconds(policy.attempt)));
  }
  if (const int most = std::max(cell.repeat, cell.max_repeat); most > policy.repeats) {
    refuse(fmt::format("asks for up to {} repeats, and at most {} are allowed", most, policy.repeats));
  }
}

}  // namespace

UntrustedPolicy untrusted_policy(const std::string& file, const std::string& matrix) {
  if (file.empty()) return {};
  std::error_code error;
  const fs::path checkout = fs::weakly_canonical(checkout_of(matrix), error);
  const std::vector<fs::path> above = folder_and_above(file);
  if (std::ranges::find(above, checkout) != above.end()) {
    throw UsageError(fmt::format("--policy: {} lies in {}, with the matrix: whoever wrote that may have written this",
                                 file, checkout.string()));
  }
  UntrustedPolicy policy = load_policy(file);
  if (const std::string problem = not_own(file); !problem.empty()) throw UsageError("--policy: " + problem);
  for (const fs::path& folder : folder_and_above(fs::absolute(file).parent_path())) {
    const std::string problem = may_be_swapped(folder);
    if (!problem.empty()) throw UsageError(fmt::format("--policy: {}, and so may swap {}", problem, file));
  }
  return policy;
}

void require_modest(const Plan& plan, const UntrustedPolicy& policy) {
  int cells = 0;
  for (const PlannedCell& planned : plan.cells) {
    if (planned.skip) continue;
    ++cells;
    require_allowed(planned.cell, policy);
  }
  if (cells > policy.cells) {
    throw UsageError(fmt::format("--untrusted: {} cells are to run, and at most {} are allowed; choose with --filter",
                                 cells, policy.cells));
  }
}

void require_own_stacks(const std::set<std::string>& stacks, const Project& project) {
  require_own_folders_above(project);
  const StackStore store = project.stack_store();
  const StackFiles files = project.stack_files();
  for (const std::string& name : stacks) {
    const auto spec = files.stacks.find(name);
    if (spec == files.stacks.end()) continue;
    const InstalledStack stack = store.find(spec->second);
    if (!stack.complete || stack.worker.empty()) continue;  // said where its worker is asked for
    for (const fs::path& path : {project.stacks_home(), stack.folder, stack.worker.parent_path(), stack.worker}) {
      if (const std::string problem = not_own(path); !problem.empty()) {
        throw UsageError(fmt::format("--untrusted: {}: {}", name, problem));
      }
    }
  }
}

void require_free_disk(const Project& project) {
  std::error_code error;
  fs::create_directories(project.store(), error);  // a run would make it in a moment
  const std::string problem = over_disk_bound(project.store(), {0, untrusted_disk({}).free_bytes});
  if (!problem.empty()) throw UsageError(fmt::format("--untrusted: {}: {}", project.store().string(), problem));
}

void require_enclosure(const Project& project) {
  const SubprocessResult tried =
      run_subprocess({.command = enclosed_command(host_enclosure(project.shepherd()), {}, 0, {"/bin/sh", "-c", ":"})});
  if (tried.exit_code == 0) return;
  throw UsageError(
      fmt::format("--untrusted: workers cannot be kept apart on this host: {}{}", tried.err, tried.launch_error));
}

void enclose_workers(std::map<std::string, WorkerCommand>& workers, const Project& project,
                     const UntrustedPolicy& policy) {
  const StackFiles files = project.stack_files();
  for (auto& [name, worker] : workers) {
    worker.kept_answers.clear();
    if (worker.enclosure) {
      worker.enclosure->file_bytes = policy.attempt_disk_bytes;
      worker.enclosure->gpu = {};  // no cell of a GPU runs, and no question needs one
      continue;
    }
    worker.enclosure = host_enclosure(project.shepherd());
    worker.enclosure->file_bytes = policy.attempt_disk_bytes;
    std::vector<fs::path>& readable = worker.enclosure->readable;
    const auto add = [&](const fs::path& path) {
      if (fs::exists(path)) readable.push_back(path);
    };
    add(fs::path(worker.command.front()).parent_path());
    add(project.data());
    add(project.stacks_home());  // the wheels, and for a hybrid those of other stacks
    const auto spec = files.stacks.find(name);
    if (spec == files.stacks.end()) continue;
    for (const std::string& folder : spec->second.library_dirs) add(folder);  // an adopted PyTorch's
  }
}

}  // namespace reprobench

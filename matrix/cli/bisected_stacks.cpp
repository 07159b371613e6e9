#include "matrix/cli/bisected_stacks.hpp"

#include <fmt/format.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/replay_host.hpp"
#include "matrix/cli/text/install_progress.hpp"
#include "matrix/cli/worker_commands.hpp"
#include "matrix/provision/sha256.hpp"
#include "matrix/verdict/loaded_libraries.hpp"

namespace reprobench {
namespace {

std::string identity_of(const WorkerCommand& worker) {
  std::string text = sha256_of_file(worker.command.front());
  for (const std::string& argument : worker.arguments) text += "\n" + argument;
  return sha256_of_text(text);
}

// The worker lies in a folder that is named by the digest of its sources.
std::string identity_of(const InstalledStack& stack, const InstalledLibraries& installed) {
  std::string text = fmt::format("{}\n{}\n", stack.digest, stack.worker.parent_path().filename().string());
  for (const InstalledLibrary& library : installed.libraries) {
    text += fmt::format("{} {} {}\n", library.path, library.build_id, library.sha256);
  }
  return sha256_of_text(text);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Of stacks of wheels, which have all their libraries below their own folder: one that was loaded in place of theirs. A
// hybrid would show the host's then, and not what it was made for.
std::string library_of_another(const InstalledLibraries& installed, const Fingerprint& loaded) {
  if (!installed.folders.empty()) return "";
  for (const MappedLibrary& library : loaded.libraries) {
    if (!library.path.starts_with('/')) continue;
    for (const InstalledLibrary& own : installed.libraries) {
      if (name_of(own.path) == name_of(library.path)) {
        return fmt::format("{} was loaded in place of {}", library.path, own.path);
      }
    }
  }
  return "";
}

BisectedStack untestable(std::string why) {
  BisectedStack stack;
  stack.why_not = std::move(why);
  return stack;
}

}  // namespace

BisectedStacks::BisectedStacks(const Project& project, const Terminal& terminal,
                               std::map<std::string, WorkerCommand> given, bool installs)
    : project_(project),
      terminal_(terminal),
      given_(std::move(given)),
      installs_(installs),
      files_(project.stack_files()) {}

const BisectedStack& BisectedStacks::at(const std::string& stack) {
  const auto known = known_.find(stack);
  if (known != known_.end()) return known->second;
  return known_[stack] = find_out(stack);
}

InstalledStack BisectedStacks::present(const StackSpec& spec) {
  StackStore store = project_.stack_store();
  InstalledStack stack = store.find(spec);
  // A stack of the system brings libraries of any folder into a process: that is for `stack install` to ask about.
  const bool may_install = spec.source == StackSource::hybrid || (installs_ && spec.source == StackSource::wheel);
  if (!may_install || (stack.complete && !stack.worker.empty())) return stack;
  InstallProgress progress(terminal_);
  stack =
      store.install(spec, /*with_gpu=*/false, [&](const std::string& name, const std::string& phase, double fraction) {
        progress.show(name, phase, fraction);
      });
  terminal_.status("");
  return stack;
}

BisectedStack BisectedStacks::find_out(const std::string& name) {
  if (const auto given = given_.find(name); given != given_.end()) {
    return {"", given->second, identity_of(given->second), std::nullopt};
  }
  const auto file = files_.stacks.find(name);
  if (file == files_.stacks.end()) return untestable(fmt::format("there is no stack {} any more", name));
  const StackSpec& spec = file->second;
  try {
    const InstalledStack stack = present(spec);
    if (!stack.complete || stack.worker.empty()) {
      return untestable("not installed, or not built for these worker sources: reprobench stack install " + name);
    }
    const auto installed = installed_libraries({name}, project_);
    const auto workers = worker_commands({name}, project_, {});
    return {"", workers.at(name), identity_of(stack, installed.at(name)), installed.at(name)};
  } catch (const ProvisionError& error) {
    return untestable(plain_line(error.what()));
  } catch (const SpecError& error) {
    return untestable(plain_line(error.what()));
  } catch (const UsageError& error) {  // a library that is not the one that was installed
    return untestable(plain_line(error.what()));
  }
}

BisectedAttempts BisectedStacks::run(const std::vector<CellRequest>& requests) {
  std::map<std::string, WorkerCommand> workers;
  std::vector<ReplayTask> tasks;
  for (const CellRequest& request : requests) {
    workers[request.stack] = at(request.stack).worker;
    tasks.push_back({fmt::format("bisect-{}", tasks.size()), request});
  }
  ReplayHost host(project_, std::move(workers));
  BisectedAttempts made;
  try {
    for (ReplayOutcome& outcome : host.replays().run(tasks)) made.attempts.push_back(std::move(outcome.attempt));
  } catch (const ReplayFailed& error) {
    made.why_not = plain_line(error.what());
    return made;
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    std::string foreign = foreign_library(requests[i].stack, made.attempts[i].lead().result->fingerprint);
    if (!foreign.empty()) made.why_not = std::move(foreign);
  }
  return made;
}

std::string BisectedStacks::foreign_library(const std::string& stack, const Fingerprint& loaded) {
  const auto& installed = at(stack).installed;
  if (!installed) return "";
  const std::string other = library_of_another(*installed, loaded);
  if (!other.empty()) return fmt::format("{}: {}", stack, other);
  const auto wrong = wrong_libraries(*installed, loaded);
  return wrong.empty() ? "" : fmt::format("{}: {}", stack, wrong.front());
}

}  // namespace reprobench

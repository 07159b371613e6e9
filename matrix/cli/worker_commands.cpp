#include "matrix/cli/worker_commands.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "matrix/spec/nearest_name.hpp"

namespace reprobench {

std::map<std::string, WorkerCommand> given_workers(const std::vector<std::string>& options) {
  std::map<std::string, WorkerCommand> workers;
  for (const std::string& option : options) {
    const auto equals = option.find('=');
    std::istringstream words(equals == std::string::npos ? "" : option.substr(equals + 1));
    const std::vector<std::string> command{std::istream_iterator<std::string>(words), {}};
    if (command.empty()) throw UsageError("--worker takes STACK=COMMAND, got " + option);
    WorkerCommand& worker = workers[option.substr(0, equals)];
    worker.command = {std::filesystem::absolute(command.front())};
    worker.arguments.assign(command.begin() + 1, command.end());
  }
  return workers;
}

void require_known_stacks(const std::map<std::string, WorkerCommand>& workers, const Project& project) {
  const StackFiles files = workers.empty() ? StackFiles() : project.stack_files();
  std::vector<std::string> known;
  for (const auto& [name, spec] : files.stacks) known.push_back(name);
  for (const auto& [name, broken] : files.broken) known.push_back(name);
  for (const auto& [name, worker] : workers) {
    if (std::ranges::find(known, name) == known.end()) {
      throw UsageError(fmt::format("--worker {}: {}", name, unknown_name("stack", name, known)));
    }
  }
}

namespace {

// Adds to `workers` those of the installed stacks; gives the names of the others.
std::vector<std::string> add_installed(const std::set<std::string>& stacks, const Project& project,
                                       std::map<std::string, WorkerCommand>& workers) {
  const StackStore store = project.stack_store();
  const StackFiles files = project.stack_files();
  std::vector<std::string> missing;
  for (const std::string& name : stacks) {
    if (workers.count(name) > 0) continue;
    const InstalledStack stack = store.find(stack_named(files, name));
    if (!stack.complete || stack.worker.empty()) {
      missing.push_back(name);
      continue;
    }
    WorkerCommand& worker = workers[name];
    worker.command = {stack.worker};
    worker.arguments = {"--data", project.data()};
    worker.environment = store.environment(stack);
    worker.enclosure = store.enclosure(stack);
    if (worker.enclosure) worker.enclosure->readable.push_back(project.data());
    worker.kept_answers = stack.worker.parent_path();
    worker.mapped = store.mapped_files(stack);
  }
  return missing;
}

std::string moved_text(const std::vector<std::string>& stacks, const Project& project) {
  const StackFiles files = project.stack_files();
  std::string text;
  for (const std::string& name : stacks) {
    const InstalledStack stack = project.stack_store().find(files.stacks.at(name));
    if (stack.moved_from.empty()) continue;
    text += fmt::format("\n            the worker of {} is linked for {}, and lies in {}", name,
                        stack.moved_from.string(), stack.folder.string());
  }
  return text;
}

}  // namespace

std::string any_installed_stack(const Project& project) {
  const StackStore store = project.stack_store();
  for (const auto& [name, spec] : project.stacks()) {
    const InstalledStack stack = store.find(spec);
    if (stack.complete && !stack.worker.empty()) return name;
  }
  throw UsageError("no stack is installed; run: reprobench stack install torch-2.8.0-cu128");
}

std::map<std::string, WorkerCommand> worker_commands(const std::set<std::string>& stacks, const Project& project,
                                                     std::map<std::string, WorkerCommand> workers) {
  std::set<std::string> asked;
  for (const std::string& stack : stacks) {
    if (workers.count(stack) == 0) asked.insert(stack);
  }
  const std::vector<std::string> missing = add_installed(stacks, project, workers);
  if (!missing.empty()) {
    throw UsageError(
        fmt::format("not installed, or not built for these worker sources: {0}{1}\n"
                    "            run: reprobench stack install {0}",
                    fmt::join(missing, " "), moved_text(missing, project)));
  }
  installed_libraries(asked, project);
  return workers;
}

std::string not_installed_note(const Plan& plan, const std::map<std::string, WorkerCommand>& workers) {
  std::vector<std::string> missing;
  for (const std::string& stack : stacks_to_run(plan)) {
    if (!workers.contains(stack)) missing.push_back(stack);
  }
  if (missing.empty()) return "";
  return fmt::format("not installed: {0}; to run the plan: reprobench stack install {0}\n", fmt::join(missing, " "));
}

std::map<std::string, InstalledLibraries> installed_libraries(const std::set<std::string>& stacks,
                                                              const Project& project) {
  const StackStore store = project.stack_store();
  const StackFiles files = project.stack_files();
  std::map<std::string, InstalledLibraries> libraries;
  for (const std::string& name : stacks) {
    const auto spec = files.stacks.find(name);
    if (spec == files.stacks.end()) continue;
    const InstalledStack stack = store.find(spec->second);
    if (!stack.complete || stack.worker.empty()) continue;
    LibraryCheck check = store.check(stack);
    if (!check.changed.empty()) {
      const bool is_adopted = spec->second.is_adopted();
      throw UsageError(
          fmt::format("{} is not what was {}: {}\n            run: {}", name, is_adopted ? "adopted" : "installed",
                      fmt::join(check.changed, "; "),
                      is_adopted ? fmt::format("reprobench stack adopt {}, as before", name)
                                 : fmt::format("reprobench stack remove {0} && reprobench stack install {0}", name)));
    }
    libraries.emplace(name, std::move(check.installed));
  }
  return libraries;
}

std::map<std::string, WorkerCommand> installed_worker_commands(const std::set<std::string>& stacks,
                                                               const Project& project,
                                                               std::map<std::string, WorkerCommand> workers) {
  add_installed(stacks, project, workers);
  return workers;
}

}  // namespace reprobench

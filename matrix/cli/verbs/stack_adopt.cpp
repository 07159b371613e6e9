#include "matrix/cli/verbs/stack_adopt.hpp"

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/pending_file.hpp"
#include "matrix/base/plain_text.hpp"
#include "matrix/cli/text/install_progress.hpp"
#include "matrix/cli/text/progress.hpp"
#include "matrix/cli/text/stack_text.hpp"
#include "matrix/cli/text/text_table.hpp"
#include "matrix/cli/verbs/store_option.hpp"
#include "matrix/host/detect_host.hpp"
#include "matrix/provision/adopted_stack.hpp"
#include "matrix/record/plain_file.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLargestStackFileBytes = 1 << 20;

TorchPlace place_named(const AdoptOptions& options) {
  if (!options.prefix.empty()) return torch_below(options.prefix);
  if (!options.libtorch.empty()) return torch_in_folder(options.libtorch);
  if (!options.python.empty()) return torch_of_python(options.python);
  const char* active = std::getenv("VIRTUAL_ENV");
  return torch_of_python(
      active != nullptr && *active != '\0' ? (std::filesystem::absolute(active) / "bin/python3").string() : "python3");
}

// Where there is no PyTorch, another place has to be named.
TorchPlace find_place(const AdoptOptions& options) {
  try {
    return place_named(options);
  } catch (const ProvisionError& error) {
    throw UsageError(plain_line(error.what()));
  }
}

std::vector<std::string> folders_of_variable(const char* name) {
  std::vector<std::string> folders;
  const char* value = std::getenv(name);
  std::istringstream text(value == nullptr ? "" : value);
  for (std::string folder; std::getline(text, folder, ':');) {
    if (folder.starts_with('/')) folders.push_back(folder);
  }
  return folders;
}

// As the worker will see it: first with what LD_LIBRARY_PATH of this process adds, then with the folders found alone,
// because a worker inherits no LD_LIBRARY_PATH.
EnvironmentSurvey survey(const TorchPlace& place, bool with_gpu) {
  LoaderFolders folders{.of_program = folders_of_variable("LD_LIBRARY_PATH"), .of_host = host_library_folders("/")};
  folders.of_program = survey_environment(place, folders, with_gpu).library_dirs;
  return survey_environment(place, folders, with_gpu);
}

// Nothing that is shipped, or written by hand, is overwritten.
void check_name(const std::string& name, const Project& project) {
  const StackFiles files = project.stack_files();
  const auto present = files.stacks.find(name);
  if (present != files.stacks.end() && !present->second.is_adopted()) {
    throw UsageError(fmt::format("the stack {} is described by {}, which was not adopted; choose another name", name,
                                 present->second.mark.file));
  }
}

// A file of the project: whoever reads the others reads this one.
void write_stack_file(const fs::path& path, const std::string& text) {
  const auto present = read_plain_file(path, kLargestStackFileBytes);
  if (const auto* same = std::get_if<std::string>(&present); same != nullptr && *same == text) return;
  try {
    PendingFile file(path, 0666);
    file.append(text);
    file.publish();
  } catch (const std::system_error& error) {
    throw ProvisionError(fmt::format("{} cannot be written: {}", path.string(), error.code().message()));
  }
}

std::string survey_text(const std::string& name, const TorchPlace& place, const EnvironmentSurvey& found) {
  std::vector<std::string> components;
  for (const auto& [component, version] : found.components) components.push_back(component + " " + version);
  TextTable table("  <44 <");
  table.line("{}: {} in {}, C++ ABI {}", name, fmt::join(components, ", "), place.lib, found.cxx11_abi);
  for (const FoundLibrary& library : found.loaded) {
    table.row(library.name, fs::path(library.path).parent_path().string());
  }
  for (const EnvironmentProblem& problem : found.problems) {
    table.line("  {} {}", problem.is_fatal ? "FAIL" : "WARN", plain_line(problem.text));
  }
  return table.text();
}

}  // namespace

ExitCode adopt_stack(const AdoptOptions& options, const Context& context) {
  const auto start = std::chrono::steady_clock::now();
  const Project project(context.store);
  check_name(options.name, project);
  const bool with_gpu = options.with_gpu || !detect_host().gpus.empty();
  const TorchPlace place = find_place(options);
  const EnvironmentSurvey found = survey(place, with_gpu);
  context.terminal.out(survey_text(options.name, place, found));
  std::vector<std::string> fatal;
  for (const EnvironmentProblem& problem : found.problems) {
    if (problem.is_fatal) fatal.push_back(problem.text);
  }
  if (!fatal.empty()) {
    throw ProvisionError(fmt::format("{} is not adopted: {}", place.lib, fmt::join(fatal, "\n            ")));
  }
  const fs::path file = project.root() / "matrix" / "stacks" / (options.name + ".yaml");
  const std::string text = adopted_stack_file(options.name, place, found);
  const StackSpec spec = parse_stack(text, file.string());
  write_stack_file(file, text);
  context.terminal.out(fmt::format("  identity {}, {} libraries; {} written, {}\n",
                                   identity_of(found.components, found.libraries).substr(0, 12), found.libraries.size(),
                                   file.string(), duration_text(std::chrono::steady_clock::now() - start)));

  StackStore store = project.stack_store();
  InstallProgress progress(context.terminal);
  const bool has_gpu_part = with_gpu && spec.components.contains("cuda");
  const InstalledStack stack =
      store.install(spec, has_gpu_part, [&](const std::string& name, const std::string& phase, double fraction) {
        progress.show(name, phase, fraction);
      });
  std::vector<std::string> libraries;
  for (const FoundLibrary& library : found.loaded) libraries.push_back(library.path);
  hash_adopted_libraries(stack.folder, libraries);
  progress.finish(spec.name, loaded_versions_text(stack, store.describe(stack)));
  const std::vector<StackFinding> findings = store.verify(stack);
  context.terminal.out(findings_text(spec, findings));
  if (!all_settled(findings)) return ExitCode::failed;
  if (spec.name == "here") {
    context.terminal.log(
        in_store("next: reprobench run --matrix matrix/here.yaml [--reference STACK]\n", context.store));
  }
  return ExitCode::passed;
}

}  // namespace reprobench

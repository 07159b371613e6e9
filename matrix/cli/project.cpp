#include "matrix/cli/project.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "matrix/cli/declared_hybrids.hpp"
#include "matrix/spec/files/own_files.hpp"
#include "matrix/spec/nearest_name.hpp"
#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

fs::path executable_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

bool is_project_root(const fs::path& folder) {
  return fs::is_directory(folder / "matrix" / "stacks") && fs::is_directory(folder / "suites" / "definitions");
}

// What REPROBENCH_ROOT says; null: nothing.
const char* named_root() {
  const char* named = std::getenv("REPROBENCH_ROOT");
  return named != nullptr && *named != '\0' ? named : nullptr;
}

// The nearest one above; empty: there is none.
fs::path root_above(const fs::path& start) {
  for (fs::path folder = start; folder != folder.root_path(); folder = folder.parent_path()) {
    if (is_project_root(folder)) return folder;
  }
  return {};
}

fs::path find_root() {
  if (const char* named = named_root()) {
    if (!is_project_root(named)) {
      throw UsageError(std::string("REPROBENCH_ROOT is ") + named + ", which holds no matrix/stacks");
    }
    return fs::absolute(named);
  }
  for (const fs::path& start : {executable_folder(), fs::current_path()}) {
    if (fs::path root = root_above(start); !root.empty()) return root;
  }
  throw UsageError(
      "the project's files were not found above the executable or the current folder; set REPROBENCH_ROOT");
}

// As one would type it here: messages, documents and reports name files by it.
fs::path from_here(const fs::path& path) {
  const fs::path relative = path.lexically_relative(fs::current_path());
  return relative.empty() || *relative.begin() == ".." ? path : relative;
}

// What the workers that are installed said of themselves: a model's presets are known to its code alone.
void add_presets(const StackStore& store, const StackFiles& files, Vocabulary& vocabulary) {
  for (const auto& [name, spec] : files.stacks) {
    const auto capability = store.description(store.find(spec));
    if (!capability) continue;
    for (const WorkloadDescription& workload : capability->workloads) {
      auto& presets = vocabulary.presets[workload.model];
      for (const OwnFileKind& kind : own_file_kinds()) {
        if (kind.is_of_probe()) continue;
        (vocabulary.*kind.takers)[workload.model] = workload.*kind.described;
      }
      for (const WorkloadPreset& preset : workload.presets) {
        if (std::find(presets.begin(), presets.end(), preset.name) == presets.end()) presets.push_back(preset.name);
      }
    }
  }
}

}  // namespace

Project::Project(fs::path store)
    : root_(find_root()), store_(fs::absolute(store)), stack_store_(stacks_home(), root_, shepherd()) {}

fs::path Project::stacks_home() const {
  const char* named = std::getenv("REPROBENCH_STACKS");
  return named != nullptr && *named != '\0' ? fs::absolute(named) : store_ / "stacks";
}

fs::path Project::shepherd() const { return executable_folder() / "reprobench-shepherd"; }

fs::path Project::schemas() const { return executable_folder().parent_path() / "schema"; }

Vocabulary Project::vocabulary() const {
  Vocabulary vocabulary{metric_infos(), {}};
  for (const auto& entry : fs::directory_iterator(root_ / "models")) {
    if (fs::exists(entry.path() / "model.cpp")) vocabulary.models.push_back(entry.path().filename());
  }
  std::sort(vocabulary.models.begin(), vocabulary.models.end());
  const StackFiles files = stack_files();
  for (const auto& [name, spec] : files.stacks) vocabulary.stacks.push_back(name);
  for (const auto& [name, problem] : files.broken) vocabulary.stacks.push_back(name);
  add_presets(stack_store(), files, vocabulary);
  return vocabulary;
}

MatrixSpec Project::matrix(const std::string& file, const Vocabulary& vocabulary) const {
  const fs::path of_matrix = root_above(fs::absolute(file).lexically_normal().parent_path());
  const bool is_of_another = !of_matrix.empty() && !fs::equivalent(of_matrix, root_);
  if (named_root() == nullptr && is_of_another && fs::exists(file)) {
    throw UsageError(
        fmt::format("{} lies in the project {}, and this program reads the suites of {}; set REPROBENCH_ROOT to "
                    "the one that is meant",
                    file, of_matrix.string(), root_.string()));
  }
  return load_matrix(file, vocabulary);
}

std::map<std::string, SuiteSpec> Project::suites() const {
  std::map<std::string, SuiteSpec> suites;
  std::vector<Diagnostic> diagnostics;
  const Vocabulary words = vocabulary();
  for (const auto& entry : fs::directory_iterator(from_here(root_ / "suites" / "definitions"))) {
    if (entry.path().extension() != ".yaml") continue;
    try {
      SuiteSpec suite = load_suite(entry.path(), words);
      suites.emplace(suite.name, std::move(suite));
    } catch (const SpecError& error) {
      diagnostics.insert(diagnostics.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
  if (!diagnostics.empty()) throw SpecError(std::move(diagnostics));
  return suites;
}

StackFiles Project::stack_files() const {
  StackFiles files = read_stack_files(from_here(root_ / "matrix" / "stacks"));
  // Images that `qualify` made stacks of, in this store (cli/image_stacks.hpp).
  if (const fs::path images = store_ / "images"; fs::is_directory(images)) {
    StackFiles of_images = read_stack_files(images);
    files.stacks.merge(of_images.stacks);
    files.broken.merge(of_images.broken);
  }
  if (const fs::path hybrids = hybrids_folder(stacks_home()); fs::is_directory(hybrids)) {
    StackFiles of_hybrids = read_stack_files(hybrids);
    files.stacks.merge(of_hybrids.stacks);
    files.broken.merge(of_hybrids.broken);
  }
  // Whose lock cannot be read, nobody can tell whether it is installed; the others are not its affair.
  for (auto& [name, spec] : files.stacks) {
    if (auto error = find_lock_error(spec)) files.broken.emplace(name, std::move(*error));
  }
  for (const auto& [name, broken] : files.broken) files.stacks.erase(name);
  return files;
}

// Facts are input as suites are: broken ones are the user's to repair.
CompatFacts Project::facts() const {
  try {
    return load_compat_facts(root_ / "matrix" / "facts" / "compat-facts.json");
  } catch (const ContractError& error) {
    throw UsageError(error.what());
  }
}

StackCatalog Project::catalog() const {
  StackFiles files = stack_files();
  StackCatalog catalog{std::move(files.stacks), {}, std::move(files.broken)};
  const StackStore store = stack_store();
  for (const auto& [name, spec] : catalog.stacks) {
    const InstalledStack installed = store.find(spec);
    StackAvailability& availability = catalog.availability[name];
    availability = {installed.complete && !installed.worker.empty(), store.system_problem(spec)};
    if (const auto capability = store.description(installed)) availability.knobs = capability->knobs;
  }
  return catalog;
}

const StackSpec& stack_named(const StackFiles& files, const std::string& name) {
  files.require_readable(name);
  const auto found = files.stacks.find(name);
  if (found != files.stacks.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [stack, spec] : files.stacks) known.push_back(stack);
  throw UsageError(unknown_name("stack", name, known));
}

}  // namespace reprobench

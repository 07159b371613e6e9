#include "matrix/cli/declared_hybrids.hpp"

#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/pending_file.hpp"
#include "matrix/provision/hybrid/hybrid_stack.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

HybridSource source_named(const Project& project, const StackFiles& files, const std::string& name) {
  const StackSpec& spec = stack_named(files, name);
  if (!spec.is_of_wheels()) {
    throw UsageError(fmt::format(
        "{} is of `source: {}`, and files are exchanged between stacks of wheels alone; the BLAS library of a "
        "distribution's stack is exchanged by the knob `blas`, as in `--knob blas=openblas`",
        name, to_string(spec.source)));
  }
  const InstalledStack stack = project.stack_store().find(spec);
  if (!stack.complete) {
    throw UsageError(fmt::format("{0} is not installed; run `reprobench stack install {0}`", name));
  }
  return {spec, stack.folder.filename().string()};
}

// One text in one place: an equal file stays as it is.
void write_file_of(const fs::path& path, const std::string& text) {
  try {
    fs::create_directories(path.parent_path());
    PendingFile file(path, 0644);
    file.append(text);
    file.publish();
  } catch (const std::system_error& error) {
    throw ProvisionError(fmt::format("{} cannot be written: {}", path.string(), error.code().message()));
  }
}

}  // namespace

fs::path hybrids_folder(const fs::path& stacks_home) { return stacks_home / "hybrids"; }

StackSpec declare_hybrid(const Project& project, const std::string& base, const PartsByStack& from,
                         const std::string& name) {
  const StackFiles files = project.stack_files();
  const HybridSource of_base = source_named(project, files, base);
  HybridSources sources;
  for (const auto& [component, stack] : from) sources[component] = source_named(project, files, stack);
  const std::string chosen = name.empty() ? hybrid_name(base, sources) : name;
  const fs::path path = hybrids_folder(project.stacks_home()) / (chosen + ".yaml");
  const std::string text = hybrid_stack_file(chosen, of_base, sources);
  const StackSpec spec = parse_stack(text, path.string());
  const auto present = files.stacks.find(chosen);
  if (present != files.stacks.end()) {
    if (present->second.text == text) return present->second;
    // One that was made by default of stacks as they were before has nothing to say any more.
    if (present->second.source != StackSource::hybrid || !name.empty()) {
      throw UsageError(
          fmt::format("the stack {} is described by {}; choose another --name", chosen, present->second.mark.file));
    }
    project.stack_store().remove(project.stack_store().find(present->second));
  }
  const std::vector<std::string> problems = find_hybrid_problems(project.stacks_home(), spec);
  if (!problems.empty()) {
    throw ProvisionError(fmt::format("{} is not made: its libraries may not meet\n            {}", spec.summary,
                                     fmt::join(problems, "\n            ")));
  }
  write_file_of(path, text);
  return spec;
}

void remove_hybrid(const Project& project, const StackSpec& hybrid) {
  const StackStore store = project.stack_store();
  store.remove(store.find(hybrid));
  fs::remove(hybrids_folder(project.stacks_home()) / (hybrid.name + ".yaml"));
}

}  // namespace reprobench

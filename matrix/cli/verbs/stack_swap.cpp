#include "matrix/cli/verbs/stack_swap.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "matrix/cli/declared_hybrids.hpp"
#include "matrix/cli/text/install_progress.hpp"
#include "matrix/cli/text/progress.hpp"
#include "matrix/cli/text/stack_text.hpp"
#include "matrix/cli/text/text_table.hpp"
#include "matrix/provision/hybrid/hybrid_site.hpp"
#include "matrix/verdict/loaded_libraries.hpp"

namespace reprobench {
namespace {

PartsByStack parts_of(const std::vector<std::string>& with) {
  PartsByStack parts;
  for (const std::string& option : with) {
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == option.size()) {
      throw UsageError("--with takes COMPONENT=STACK, got " + option);
    }
    if (!parts.emplace(option.substr(0, equals), option.substr(equals + 1)).second) {
      throw UsageError("--with names " + option.substr(0, equals) + " twice");
    }
  }
  return parts;
}

std::string build_of(const std::string& build_id) { return build_id.empty() ? "no build id" : build_id; }

// A line for every library that was exchanged: what lies there, and what the worker has mapped of it.
std::string exchanged_text(const InstalledStack& hybrid, const InstalledLibraries& installed,
                           const Fingerprint& loaded) {
  const SiteParts parts = site_parts(hybrid.folder / "site");
  TextTable table("  <10 <30 <42 <");
  for (const auto& [component, folder] : hybrid.spec.parts) {
    for (const std::string& path : parts.at(component).libraries()) {
      const auto lies = std::ranges::find(installed.libraries, "site/" + path, &InstalledLibrary::path);
      const auto mapped = std::ranges::find(loaded.libraries, "site/" + path, &MappedLibrary::path);
      table.row(component, path.substr(path.rfind('/') + 1),
                lies == installed.libraries.end() ? "" : build_of(lies->build_id),
                mapped == loaded.libraries.end() ? "not mapped by a worker that trains nothing"
                                                 : "mapped: " + build_of(mapped->build_id));
    }
  }
  return table.text();
}

// A line for every component of which both stacks have the same bytes: no result is explained by exchanging it.
std::string unchanged_text(const Project& project, const InstalledStack& hybrid, const InstalledLibraries& installed) {
  const std::filesystem::path base = project.stacks_home() / hybrid.spec.base;
  if (!has_manifest(base)) return "";  // a hybrid outlives the stacks that it is of
  std::map<std::string, std::string> hashes;
  for (const UnpackedFile& file : read_manifest(base).files) hashes["site/" + file.path] = file.sha256;
  const SiteParts parts = site_parts(hybrid.folder / "site");
  std::string text;
  for (const auto& [component, folder] : hybrid.spec.parts) {
    const bool is_same = std::ranges::all_of(parts.at(component).libraries(), [&](const std::string& path) {
      const auto lies = std::ranges::find(installed.libraries, "site/" + path, &InstalledLibrary::path);
      return lies != installed.libraries.end() && hashes["site/" + path] == lies->sha256;
    });
    if (is_same) text += fmt::format("  WARN {} is the same in both: nothing was exchanged\n", component);
  }
  return text;
}

}  // namespace

ExitCode swap_components(const SwapOptions& options, const Context& context) {
  const auto start = std::chrono::steady_clock::now();
  const Project project(context.store);
  const PartsByStack parts = parts_of(options.with);
  if (parts.empty()) throw UsageError("say what to exchange: --with COMPONENT=STACK");
  const StackSpec spec = declare_hybrid(project, options.base, parts, options.name);
  StackStore store = project.stack_store();
  InstallProgress progress(context.terminal);
  constexpr bool kWithGpu = false;  // a hybrid has the GPU part where its stacks have it
  InstalledStack stack;
  try {
    stack = store.install(spec, kWithGpu, [&](const std::string& name, const std::string& phase, double fraction) {
      progress.show(name, phase, fraction);
    });
  } catch (const ProvisionError&) {
    remove_hybrid(project, spec);
    throw;
  }
  progress.finish(spec.name, "");
  const Capability capability = store.describe(stack);
  const LibraryCheck check = store.check(stack);
  context.terminal.out(fmt::format("{}: {}, {}\n{}", spec.name, spec.summary,
                                   duration_text(std::chrono::steady_clock::now() - start),
                                   exchanged_text(stack, check.installed, capability.fingerprint)) +
                       unchanged_text(project, stack, check.installed));
  std::vector<StackFinding> findings = store.verify(stack);
  for (const std::string& wrong : wrong_libraries(check.installed, capability.fingerprint)) findings.push_back({wrong});
  context.terminal.out(findings_text(spec, findings));
  return all_settled(findings) ? ExitCode::passed : ExitCode::failed;
}

}  // namespace reprobench

#include "matrix/cli/hybrid_mixes.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/declared_hybrids.hpp"
#include "matrix/provision/hybrid/hybrid_site.hpp"
#include "matrix/provision/library_search.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

const StackSpec* wheels_named(const StackFiles& files, const std::string& name) {
  const auto spec = files.stacks.find(name);
  return spec != files.stacks.end() && spec->second.is_of_wheels() ? &spec->second : nullptr;
}

SiteSource installed_source(const Project& project, const std::string& name) {
  const StackFiles files = project.stack_files();
  files.require_readable(name);
  const StackSpec* spec = wheels_named(files, name);
  if (spec == nullptr) {
    throw UsageError(
        fmt::format("{} is not a stack of wheels, and components are exchanged between these alone", name));
  }
  return site_source(project.stack_store().find(*spec).folder);
}

std::vector<ComponentLibrary> libraries_of(const SiteSource& source, const std::string& component) {
  std::vector<ComponentLibrary> libraries;
  const auto part = source.parts.find(component);
  if (part == source.parts.end()) return libraries;
  for (const std::string& path : part->second.libraries()) {
    libraries.push_back({path.substr(path.rfind('/') + 1), library_identity((source.site() / path).string())});
  }
  return libraries;
}

// A component that only one end has goes where torch goes (provision/hybrid/hybrid_site.hpp).
std::vector<std::string> exchangeable(const SiteSource& good, const SiteSource& bad) {
  std::vector<std::string> names = differing_components(good, bad);
  std::erase_if(names,
                [&](const std::string& name) { return !good.parts.contains(name) || !bad.parts.contains(name); });
  return names;
}

}  // namespace

bool have_hybrids(const Project& project, const std::string& good, const std::string& bad) {
  const StackFiles files = project.stack_files();
  return std::ranges::all_of(std::vector{good, bad}, [&](const std::string& name) {
    const StackSpec* spec = wheels_named(files, name);
    if (spec == nullptr) return false;
    try {
      site_source(project.stack_store().find(*spec).folder);
      return true;
    } catch (const ProvisionError&) {
      return false;
    }
  });
}

void require_exchangeable(const Project& project, const std::string& a, const std::string& b,
                          const std::string& component) {
  const SiteSource of_a = installed_source(project, a);
  const SiteSource of_b = installed_source(project, b);
  const std::vector<std::string> names = exchangeable(of_a, of_b);
  if (std::ranges::find(names, component) != names.end()) return;
  const std::string differing =
      names.empty() ? "they differ in none that both have" : fmt::format("they differ in {}", fmt::join(names, ", "));
  const bool a_has_it = of_a.parts.contains(component);
  const bool b_has_it = of_b.parts.contains(component);
  if (a_has_it && b_has_it) {
    throw UsageError(fmt::format("{} is the same in {} and {}, and explains nothing; {}", component, a, b, differing));
  }
  if (a_has_it || b_has_it) {
    throw UsageError(
        fmt::format("only {} has {}, which goes where torch goes; {}", a_has_it ? a : b, component, differing));
  }
  std::vector<std::string> known;
  for (const auto& [name, part] : of_a.parts) known.push_back(name);
  throw UsageError(fmt::format("{}; {}", unknown_name("component", component, known), differing));
}

HybridMixes::HybridMixes(const Project& project, BisectedStacks& stacks, std::string good, std::string bad)
    : project_(project),
      stacks_(stacks),
      good_(std::move(good)),
      bad_(std::move(bad)),
      names_(exchangeable(installed_source(project, good_), installed_source(project, bad_))) {}

std::vector<DifferingComponent> HybridMixes::components() const {
  const SiteSource good = installed_source(project_, good_);
  const SiteSource bad = installed_source(project_, bad_);
  std::vector<DifferingComponent> components;
  for (const std::string& name : differing_components(good, bad)) {
    components.push_back(differing_component(name, libraries_of(good, name), libraries_of(bad, name)));
  }
  return components;
}

MixedStack HybridMixes::made_with(const std::vector<std::string>& from_bad) {
  PartsByStack parts;
  for (const std::string& name : from_bad) parts[name] = bad_;
  try {
    const std::map<std::string, StackSpec> before = project_.stacks();
    const StackSpec spec = declare_hybrid(project_, good_, parts);
    if (!before.contains(spec.name)) made_.push_back(spec.name);
    stacks_.add(spec);
    return {spec.name, ""};
  } catch (const ProvisionError& error) {
    return {"", plain_line(error.what())};
  }
}

std::string HybridMixes::making(const std::vector<std::string>& from_bad) const {
  std::string command = fmt::format("reprobench stack swap {}", good_);
  for (const std::string& name : from_bad) command += fmt::format(" --with {}={}", name, bad_);
  return command;
}

void HybridMixes::keep_only(const std::vector<std::string>& stacks) {
  const std::map<std::string, StackSpec> present = project_.stacks();
  for (const std::string& made : made_) {
    const bool is_named = std::ranges::find(stacks, made) != stacks.end();
    if (!is_named && present.contains(made)) remove_hybrid(project_, present.at(made));
  }
  made_.clear();
}

}  // namespace reprobench

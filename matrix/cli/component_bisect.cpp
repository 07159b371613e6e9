#include "matrix/cli/component_bisect.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/declared_hybrids.hpp"
#include "matrix/provision/hybrid_site.hpp"
#include "matrix/provision/library_search.hpp"

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

// A component that only one end has goes where torch goes (provision/hybrid_site.hpp).
std::vector<std::string> exchangeable(const SiteSource& good, const SiteSource& bad) {
  std::vector<std::string> names = differing_components(good, bad);
  std::erase_if(names,
                [&](const std::string& name) { return !good.parts.contains(name) || !bad.parts.contains(name); });
  return names;
}

}  // namespace

bool are_of_components(const Project& project, const std::string& good, const std::string& bad) {
  const StackFiles files = project.stack_files();
  for (const std::string& name : {good, bad}) {
    const StackSpec* spec = wheels_named(files, name);
    if (spec == nullptr || !project.stack_store().find(*spec).complete) return false;
  }
  return true;
}

ComponentBisect::ComponentBisect(const Project& project, BisectScene scene, std::function<void(const std::string&)> log)
    : project_(project),
      scene_(std::move(scene)),
      log_(std::move(log)),
      names_(
          exchangeable(installed_source(project, scene_.axis.front()), installed_source(project, scene_.axis.back()))) {
  scene_.is_of_components = true;
}

std::vector<DifferingComponent> ComponentBisect::components() const {
  const SiteSource good = installed_source(project_, scene_.axis.front());
  const SiteSource bad = installed_source(project_, scene_.axis.back());
  std::vector<DifferingComponent> components;
  for (const std::string& name : differing_components(good, bad)) {
    components.push_back({name, libraries_of(good, name), libraries_of(bad, name)});
  }
  return components;
}

std::vector<std::string> ComponentBisect::names_of(const std::vector<std::size_t>& set) const {
  std::vector<std::string> names;
  for (const std::size_t component : set) names.push_back(names_[component]);
  return names;
}

const ComponentBisect::Mixed& ComponentBisect::mixed(const std::vector<std::size_t>& from_bad) {
  const auto known = mixes_.find(from_bad);
  if (known != mixes_.end()) return known->second;
  PartsByStack parts;
  for (const std::string& name : names_of(from_bad)) parts[name] = scene_.axis.back();
  Mixed& mix = mixes_[from_bad];
  try {
    const std::map<std::string, StackSpec> before = project_.stacks();
    const StackSpec spec = declare_hybrid(project_, scene_.axis.front(), parts);
    if (!before.contains(spec.name)) made_.push_back(spec.name);
    scene_.stacks.add(spec);
    mix.stack = spec.name;
  } catch (const ProvisionError& error) {
    mix.why_not = plain_line(error.what());
  }
  return mix;
}

ComponentSearch ComponentBisect::searched(
    const std::string& subject,
    const std::function<PointAnswer(const std::string& stack, bool is_confirmation)>& evaluate) {
  log_(subject + "\n");
  std::size_t number = 0;
  const auto answer = [&](const Mix& mix, bool is_confirmation) -> PointAnswer {
    if (mix.kind == MixKind::good_end) return evaluate(scene_.axis.front(), is_confirmation);
    if (mix.kind == MixKind::bad_end) return evaluate(scene_.axis.back(), is_confirmation);
    const Mixed& made = mixed(mix.from_bad);
    if (made.stack.empty()) return {PointState::untestable, made.why_not, ""};
    return evaluate(made.stack, is_confirmation);
  };
  return bisect_components(names_.size(), [&](const Mix& mix, bool is_confirmation) {
    const PointAnswer seen = answer(mix, is_confirmation);
    const std::string what = mix.kind == MixKind::mix ? fmt::format("with {}", fmt::join(names_of(mix.from_bad), ", "))
                                                      : std::string(to_string(mix.kind));
    log_(fmt::format("  [{}] {}{}: {}{}{}\n", ++number, what, is_confirmation ? " again" : "", to_string(seen.state),
                     seen.why.empty() ? "" : ": ", seen.why));
    return seen;
  });
}

void ComponentBisect::complete(ComponentAnswer& answer, const ComponentSearch& search, BitsQuestion& bits,
                               bool is_of_bits, const CommandFor& command) {
  const std::string& good = scene_.axis.front();
  for (std::size_t i = 0; i < answer.culprits.size(); ++i) {
    ComponentCulprit& culprit = answer.culprits[i];
    culprit.stack = mixed(search.culprits[i].components).stack;
    StackChange change;
    change.before = good;
    change.after = culprit.stack;
    if (is_of_bits) {
      bits.describe(answer.subject, change);
      culprit.differing = change.differing;
      culprit.judgement = change.judgement;
      culprit.loaded = change.components;
    } else {
      culprit.judgement = search.answer_to({MixKind::mix, search.culprits[i].components})->why;
      culprit.loaded = bits.components_between(good, culprit.stack);
    }
    std::string swap = fmt::format("reprobench stack swap {}", good);
    for (const std::string& name : names_of(search.culprits[i].components)) {
      swap += fmt::format(" --with {}={}", name, scene_.axis.back());
    }
    culprit.commands = {swap, command(answer.subject, change)};
  }
  if (!search.is_hidden || names_.empty()) return;
  std::vector<std::size_t> all(names_.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  answer.differences = bits.components_between(mixed(all).stack, scene_.axis.back());
}

ComponentAnswer ComponentBisect::ask_for_bits(BitsQuestion& bits, const std::string& subject,
                                              const CommandFor& command) {
  const ComponentSearch search = searched(subject, [&](const std::string& stack, bool is_confirmation) {
    if (is_confirmation) bits.forget(stack);
    return bits.answer_of_stack(subject, stack);
  });
  ComponentAnswer answer = answer_of_components(subject, search, names_);
  complete(answer, search, bits, /*is_of_bits=*/true, command);
  return answer;
}

ComponentAnswer ComponentBisect::ask_for_speed(SpeedQuestion& speed, BitsQuestion& bits, const std::string& subject,
                                               const CommandFor& command) {
  const ComponentSearch search = searched(subject, [&](const std::string& stack, bool is_confirmation) {
    return speed.answer_of_stack(stack, is_confirmation);
  });
  ComponentAnswer answer = answer_of_components(subject, search, names_);
  complete(answer, search, bits, /*is_of_bits=*/false, command);
  return answer;
}

void ComponentBisect::remove_needless(const std::vector<ComponentAnswer>& answers) {
  std::set<std::string> named;
  for (const ComponentAnswer& answer : answers) {
    for (const ComponentCulprit& culprit : answer.culprits) named.insert(culprit.stack);
  }
  const std::map<std::string, StackSpec> stacks = project_.stacks();
  for (const std::string& stack : made_) {
    if (!named.contains(stack)) remove_hybrid(project_, stacks.at(stack));
  }
  made_.clear();
}

}  // namespace reprobench

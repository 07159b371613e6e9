#include "matrix/provision/hybrid/hybrid_stack.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/provision/hybrid/hybrid_rules.hpp"
#include "matrix/provision/hybrid/hybrid_site.hpp"
#include "matrix/provision/library_check.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/sha256.hpp"
#include "matrix/provision/yaml_text.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 64;  // spec/scalar.cpp

// The components that a stack file declares, each with the component of site/ that brings it.
constexpr std::pair<const char*, const char*> kDeclaredBy[] = {
    {"torch", "torch"}, {"cuda", "cudart"}, {"cudnn", "cudnn"}, {"nccl", "nccl"}};

// Stack to the components that are taken from it.
std::map<std::string, std::vector<std::string>> by_stack(const HybridSources& from) {
  std::map<std::string, std::vector<std::string>> components;
  for (const auto& [component, source] : from) components[source.spec.name].push_back(component);
  return components;
}

// A name and nothing else: a file of the store must not lead out of it.
fs::path folder_in(const fs::path& home, const std::string& name) {
  if (name.empty() || name.starts_with('.') || name.find('/') != std::string::npos) {
    throw ProvisionError(fmt::format("`{}` is no folder of a stack", name));
  }
  return home / name;
}

// The stacks that a hybrid is of, by folder: their addresses are kept by what is composed of them.
struct Sources {
  std::map<std::string, SiteSource> by_folder;

  Sources(const fs::path& home, const StackSpec& hybrid) {
    add(home, hybrid.base);
    for (const auto& [component, folder] : hybrid.parts) add(home, folder);
  }
  void add(const fs::path& home, const std::string& folder) {
    if (!by_folder.contains(folder)) by_folder.emplace(folder, site_source(folder_in(home, folder)));
  }
  HybridSite composed(const StackSpec& hybrid) const {
    std::map<std::string, const SiteSource*> from;
    for (const auto& [component, folder] : hybrid.parts) from[component] = &by_folder.at(folder);
    return compose_site(by_folder.at(hybrid.base), from);
  }
};

}  // namespace

std::string hybrid_summary(const std::string& base, const HybridSources& from) {
  std::vector<std::string> parts;
  for (const auto& [stack, components] : by_stack(from)) {
    parts.push_back(fmt::format("{} of {}", fmt::join(components, ", "), stack));
  }
  return fmt::format("{} with {}", base, fmt::join(parts, " and "));
}

std::string hybrid_name(const std::string& base, const HybridSources& from) {
  std::string name = base;
  const char* word = "with";
  for (const auto& [stack, components] : by_stack(from)) {
    name += fmt::format("-{}-{}-of-{}", word, fmt::join(components, "-"), stack);
    word = "and";
  }
  if (name.size() <= kLongestName) return name;
  const std::string digest = sha256_of_text(name).substr(0, 12);
  return base.substr(0, kLongestName - 8 - digest.size()) + "-hybrid-" + digest;
}

std::string hybrid_stack_file(const std::string& name, const HybridSource& base, const HybridSources& from) {
  std::map<std::string, std::string> declared = base.spec.components;
  for (const auto& [key, component] : kDeclaredBy) {
    const auto source = from.find(component);
    if (source == from.end()) continue;
    declared.erase(key);
    const auto version = source->second.spec.components.find(key);
    if (version != source->second.spec.components.end()) declared[key] = version->second;
  }
  const auto torch = from.find("torch");
  const StackSpec& headers = torch == from.end() ? base.spec : torch->second.spec;
  std::vector<std::string> components;
  for (const auto& [key, version] : declared) components.push_back(key + ": " + quoted_scalar(version));
  std::string text = fmt::format(
      "# Written by `reprobench stack swap`, or by a bisect of components.\n"
      "schema: 1\n"
      "name: {}\n"
      "summary: {}\n"
      "source: hybrid\n"
      "components: {{{}}}\n"
      "cxx11_abi: {}\n"
      "cxx_standard: {}\n"
      "hybrid:\n"
      "  base: {}\n"
      "  parts:\n",
      name, quoted_scalar(hybrid_summary(base.spec.name, from)), fmt::join(components, ", "), headers.cxx11_abi,
      headers.cxx_standard, quoted_scalar(base.folder));
  for (const auto& [component, source] : from)
    text += fmt::format("    {}: {}\n", component, quoted_scalar(source.folder));
  return text;
}

std::string folder_of_torch(const StackSpec& hybrid) {
  const auto torch = hybrid.parts.find("torch");
  return torch == hybrid.parts.end() ? hybrid.base : torch->second;
}

std::vector<std::string> find_hybrid_problems(const fs::path& home, const StackSpec& hybrid) {
  const Sources sources(home, hybrid);
  return find_abi_problems(sources.composed(hybrid));
}

StackManifest make_hybrid_site(const fs::path& home, const StackSpec& hybrid, const fs::path& site) {
  const Sources sources(home, hybrid);
  const SiteSource& base = sources.by_folder.at(hybrid.base);
  for (const auto& [folder, source] : sources.by_folder) {
    if (source.manifest.with_gpu != base.manifest.with_gpu) {
      throw ProvisionError(
          fmt::format("of {} and {} one is installed with its GPU part and one without; run "
                      "`reprobench stack install --with-gpu {} {}`",
                      base.stack, source.stack, base.stack, source.stack));
    }
    const LibraryCheck check = check_libraries(source.folder, source.manifest);
    if (!check.changed.empty()) {
      throw ProvisionError(fmt::format("{} is not what was installed: {}", source.stack, check.changed.front()));
    }
  }
  StackManifest manifest = link_site(sources.composed(hybrid), site);
  manifest.with_gpu = base.manifest.with_gpu;
  return manifest;
}

}  // namespace reprobench

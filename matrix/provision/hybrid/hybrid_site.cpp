#include "matrix/provision/hybrid/hybrid_site.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/contract/version.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/wheel_unpack.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_of(const SiteParts& parts) {
  std::vector<std::string> names;
  for (const auto& [component, part] : parts) {
    if (!part.libraries().empty()) names.push_back(component);
  }
  return names;
}

void require_component(const SiteSource& source, const std::string& component) {
  const auto part = source.parts.find(component);
  if (part != source.parts.end() && !part->second.libraries().empty()) return;
  throw ProvisionError(fmt::format("{} as it is installed has no library of `{}`; it has {}", source.stack, component,
                                   fmt::join(names_of(source.parts), ", ")));
}

void add_part(HybridSite& hybrid, const std::string& component, const SiteSource& source) {
  const auto part = source.parts.find(component);
  if (part == source.parts.end()) return;
  hybrid.origins[component] = &source;
  for (const std::string& file : part->second.files) hybrid.files[file] = {component, &source, file};
}

// Gives the OpenMP library the name by which this torch asks the loader for it; another release may name its file
// differently.
void name_openmp_for_torch(HybridSite& hybrid) {
  const auto torch = hybrid.origins.find("torch");
  const auto openmp = hybrid.origins.find("openmp");
  if (torch == hybrid.origins.end() || openmp == hybrid.origins.end() || torch->second == openmp->second) return;
  const auto of_torch = torch->second->parts.find("openmp");
  const std::vector<std::string> asked =
      of_torch == torch->second->parts.end() ? std::vector<std::string>() : of_torch->second.libraries();
  const std::vector<std::string> there = openmp->second->parts.at("openmp").libraries();
  if (asked.size() != 1 || there.size() != 1) {
    throw ProvisionError(
        fmt::format("{} has {} files of OpenMP and {} has {}: which is to stand for which is not known",
                    torch->second->stack, asked.size(), openmp->second->stack, there.size()));
  }
  const HybridFile file = hybrid.files.at(there.front());
  hybrid.files.erase(there.front());
  hybrid.files[asked.front()] = file;
}

std::map<std::string, UnpackedFile> by_path(const StackManifest& manifest) {
  std::map<std::string, UnpackedFile> files;
  for (const UnpackedFile& file : manifest.files) files.emplace(file.path, file);
  return files;
}

// SHA-256 by file name. OpenMP's is another one in each release.
std::set<std::string> hashes_of(const SiteSource& source, const std::string& component) {
  std::set<std::string> hashes;
  const auto part = source.parts.find(component);
  if (part == source.parts.end()) return hashes;
  for (const UnpackedFile& file : source.manifest.files) {
    if (!std::ranges::binary_search(part->second.files, file.path)) continue;
    hashes.insert((component == "openmp" ? "" : fs::path(file.path).filename().string()) + " " + file.sha256);
  }
  return hashes;
}

}  // namespace

SiteSource site_source(const fs::path& folder) {
  if (!has_manifest(folder)) {
    throw ProvisionError(
        fmt::format("no stack is installed in {}, which the hybrid is to take files of; install it", folder.string()));
  }
  try {
    SiteSource source{"", folder, read_manifest(folder), site_parts(folder / "site")};
    source.stack = source.manifest.name;
    return source;
  } catch (const ContractError& error) {
    throw ProvisionError(error.what());
  }
}

HybridSite compose_site(const SiteSource& base, const std::map<std::string, const SiteSource*>& from) {
  for (const auto& [component, source] : from) {
    require_component(base, component);
    require_component(*source, component);
  }
  const auto torch = from.find("torch");
  HybridSite hybrid;
  for (const auto& [component, part] : base.parts) {
    if (from.contains(component)) continue;
    const bool is_left_behind = torch != from.end() && !torch->second->parts.contains(component);
    if (!is_left_behind) add_part(hybrid, component, base);
  }
  for (const auto& [component, source] : from) add_part(hybrid, component, *source);
  if (torch != from.end()) {
    for (const auto& [component, part] : torch->second->parts) {
      if (!base.parts.contains(component)) add_part(hybrid, component, *torch->second);
    }
  }
  name_openmp_for_torch(hybrid);
  return hybrid;
}

StackManifest link_site(const HybridSite& hybrid, const fs::path& site) {
  std::map<const SiteSource*, std::map<std::string, UnpackedFile>> listed;
  StackManifest manifest;
  for (const auto& [path, file] : hybrid.files) {
    const fs::path target = site / path;
    fs::create_directories(target.parent_path());
    fs::create_hard_link(hybrid.place(file), target);
    manifest.size_bytes += static_cast<std::int64_t>(fs::file_size(target));
    if (!listed.contains(file.source)) listed[file.source] = by_path(file.source->manifest);
    const auto known = listed[file.source].find(file.path);
    if (known == listed[file.source].end()) {
      // Only libraries need a hash: one that nobody hashed cannot be proven afterwards.
      if (!is_shared_library(path)) continue;
      throw ProvisionError(
          fmt::format("{} is not in the manifest of {}", hybrid.place(file).string(), file.source->stack));
    }
    manifest.files.push_back({path, known->second.size_bytes, known->second.sha256});
  }
  return manifest;
}

std::vector<std::string> differing_components(const SiteSource& a, const SiteSource& b) {
  std::set<std::string> names;
  for (const SiteParts* parts : {&a.parts, &b.parts}) {
    for (const auto& [component, part] : *parts) names.insert(component);
  }
  std::vector<std::string> differing;
  for (const std::string& component : names) {
    if (hashes_of(a, component) != hashes_of(b, component)) differing.push_back(component);
  }
  return differing;
}

}  // namespace reprobench

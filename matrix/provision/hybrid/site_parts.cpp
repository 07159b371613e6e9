#include "matrix/provision/hybrid/site_parts.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "matrix/base/regular_file.hpp"
#include "matrix/provision/package_metadata.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/wheel_unpack.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLargestRecordBytes = 64 << 20;

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kKnownAs = {
    {{"cuda-runtime", "cudart"}, {"cuda-cupti", "cupti"}, {"cuda-nvrtc", "nvrtc"}}};

std::string text_of(const fs::path& file) {
  FileText text = read_regular_file(file, kLargestRecordBytes);
  if (!text.problem.empty()) throw ProvisionError(file.string() + ": " + text.problem);
  return std::move(text.text);
}

bool is_openmp(const std::string& file) { return file.starts_with("torch/lib/libgomp"); }

// File to the component that it is of.
std::map<std::string, std::string> owners(const fs::path& site, SiteParts& parts) {
  std::map<std::string, std::string> owner_of;
  for (const auto& entry : fs::directory_iterator(site)) {
    if (!entry.path().filename().string().ends_with(".dist-info")) continue;
    const InstalledPackage package = package_of_metadata(text_of(entry.path() / "METADATA"));
    const std::string component = component_of_package(package.name);
    if (component.empty()) throw ProvisionError(entry.path().string() + " does not say of which package it is");
    if (parts.contains(component)) {
      throw ProvisionError(fmt::format("{} holds {} twice", site.string(), component));
    }
    parts[component] = {package.name, package.version, {}};
    for (const auto& [file, hash] : hashes_of_record(text_of(entry.path() / "RECORD"))) {
      const std::string owner = component == "torch" && is_openmp(file) ? "openmp" : component;
      const auto [first, is_new] = owner_of.emplace(file, owner);
      if (!is_new && fs::exists(site / file)) {
        throw ProvisionError(fmt::format("{} is of {} and of {}", (site / file).string(), first->second, owner));
      }
    }
  }
  return owner_of;
}

}  // namespace

std::vector<std::string> SitePart::libraries() const {
  std::vector<std::string> libraries;
  std::ranges::copy_if(files, std::back_inserter(libraries), &is_shared_library);
  return libraries;
}

std::string component_of_package(const std::string& package) {
  std::string name = package;
  if (name.starts_with("nvidia-")) {
    name.erase(0, 7);
    if (const std::size_t variant = name.rfind("-cu1"); variant != std::string::npos) name.erase(variant);
  }
  for (const auto& [package_name, component] : kKnownAs) {
    if (name == package_name) return std::string(component);
  }
  return name;
}

SiteParts site_parts(const fs::path& site) {
  SiteParts parts;
  const std::map<std::string, std::string> owner_of = owners(site, parts);
  for (const auto& entry : fs::recursive_directory_iterator(site)) {
    if (entry.is_directory()) continue;
    const std::string file = entry.path().lexically_relative(site).string();
    const auto owner = owner_of.find(file);
    if (owner == owner_of.end()) throw ProvisionError(entry.path().string() + " is of no package of the stack");
    SitePart& part = parts[owner->second];
    if (owner->second == "openmp") part = {parts["torch"].package, parts["torch"].version, std::move(part.files)};
    part.files.push_back(file);
  }
  for (auto& [component, part] : parts) std::ranges::sort(part.files);
  return parts;
}

}  // namespace reprobench

#include "matrix/cli/image_mixes.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "matrix/numerics/steps/fingerprint_differences.hpp"
#include "matrix/provision/hybrid/site_parts.hpp"

namespace reprobench {
namespace {

constexpr std::string_view kTorchLibraries = "/torch/lib/";
constexpr std::string_view kNvidia = "/nvidia/";

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string before_version(const std::string& name) { return name.substr(0, name.find(".so")); }

// "libcudnn_ops.so.9" is of the package that "libcudnn.so.9" is of, and "libcublasLt" of that of "libcublas".
std::string package_of_nvidia(const std::string& library) {
  std::string package = before_version(library);
  if (package.starts_with("lib")) package.erase(0, 3);
  package = package.substr(0, package.find_first_of("_-"));
  return package.starts_with("cublas") ? "cublas" : package;
}

// All that torch's wheel carries is torch: it comes in one piece. A folder of NVIDIA's is a package, but for cu13,
// which holds the libraries of all of them; there the library says which.
std::string component_of_path(const std::string& path) {
  if (path.find(kTorchLibraries) != std::string::npos) return "torch";
  const std::string name = file_name(path);
  if (name.starts_with("libtorch") || name.starts_with("libc10")) return "torch";
  const std::size_t nvidia = path.find(kNvidia);
  if (nvidia != std::string::npos) {
    const std::string rest = path.substr(nvidia + kNvidia.size());
    std::string folder = rest.substr(0, rest.find('/'));
    std::ranges::replace(folder, '_', '-');
    return folder.starts_with("cu1") ? package_of_nvidia(name) : component_of_package("nvidia-" + folder);
  }
  return before_version(name);
}

// A library without a build id is known by the hash that the image's file has; one without either is like no other.
std::string identity_of(const ImageEnd& end, const MappedLibrary& library) {
  if (!library.build_id.empty()) return library.build_id;
  const auto known = end.spec.libraries.find(file_name(library.path));
  return known == end.spec.libraries.end() ? "unknown in " + end.spec.name : known->second;
}

using LibrariesOfEnd = std::map<std::string, std::vector<ComponentLibrary>>;  // by component

LibrariesOfEnd libraries_of(const ImageEnd& end) {
  LibrariesOfEnd libraries;
  for (const MappedLibrary& library : end.loaded->libraries) {
    libraries[component_of_path(library.path)].push_back({file_name(library.path), identity_of(end, library)});
  }
  for (auto& [component, list] : libraries) std::ranges::sort(list, {}, &ComponentLibrary::name);
  return libraries;
}

// Variables of a worker's environment that are not the same, as if they were libraries.
DifferingComponent environment_between(const ImageEnd& good, const ImageEnd& bad) {
  DifferingComponent environment{"environment", {}, {}};
  for (const auto& [part, difference] : fingerprint_differences(*bad.loaded, *good.loaded)) {
    if (part != FingerprintPart::variable) continue;
    const auto value = [](const std::string& text) { return text.empty() ? std::string("not set") : text; };
    environment.good.push_back({difference.what, value(difference.expected)});
    environment.bad.push_back({difference.what, value(difference.measured)});
  }
  return environment;
}

}  // namespace

ImageMixes::ImageMixes(const ImageEnd& good, const ImageEnd& bad) : bad_(bad.spec.name) {
  if (good.loaded == nullptr || bad.loaded == nullptr) return;
  LibrariesOfEnd of_good = libraries_of(good);
  LibrariesOfEnd of_bad = libraries_of(bad);
  std::set<std::string> names;
  for (const LibrariesOfEnd* libraries : {&of_good, &of_bad}) {
    for (const auto& [component, list] : *libraries) names.insert(component);
  }
  for (const std::string& name : names) {
    if (of_good[name] == of_bad[name]) continue;
    components_.push_back(differing_component(name, of_good[name], of_bad[name]));
  }
  DifferingComponent environment = environment_between(good, bad);
  if (!environment.good.empty()) components_.push_back(std::move(environment));
}

std::vector<std::string> ImageMixes::names() const {
  std::vector<std::string> names;
  for (const DifferingComponent& component : components_) names.push_back(component.name);
  return names;
}

MixedStack ImageMixes::made_with(const std::vector<std::string>& from_bad) {
  if (from_bad.size() == components_.size()) return {bad_, ""};
  return {"", "files of one image are not put into another, whose package manager would not know them"};
}

}  // namespace reprobench

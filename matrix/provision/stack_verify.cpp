#include "matrix/provision/stack_verify.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/contract/installed_libraries.hpp"
#include "matrix/provision/sha256.hpp"
#include "matrix/spec/version_agreement.hpp"

namespace reprobench {
namespace {

bool lies_in(const std::string& path, const std::string& folder) {
  return path.starts_with(folder.ends_with('/') ? folder : folder + "/");
}

// The worker names a library by its path below the stack's folder where it lies inside, and absolutely elsewhere.
bool lies_in_stack(const std::string& path, const StackSpec& spec, const std::filesystem::path& folder) {
  if (!path.starts_with('/') || lies_in(path, folder.string())) return true;
  return std::any_of(spec.library_dirs.begin(), spec.library_dirs.end(),
                     [&](const std::string& directory) { return lies_in(path, directory); });
}

// The torch of a hybrid was compiled against a component that is not the hybrid's, because that is what it was made
// for. The library that is loaded, if any is, has to be the declared one all the same.
bool was_exchanged(const StackSpec& spec, const VersionDisagreement& disagreement, const Fingerprint& fingerprint) {
  if (spec.source != StackSource::hybrid || disagreement.component == "torch") return false;
  const auto component = std::ranges::find(fingerprint.components, disagreement.component, &ComponentVersion::name);
  const auto declared = spec.components.find(disagreement.component);
  if (component == fingerprint.components.end() || declared == spec.components.end()) return false;
  return component->loaded.empty() || agrees_with(declared->second, component->loaded);
}

}  // namespace

std::vector<StackFinding> find_disagreements(const StackSpec& spec, const Capability& capability,
                                             const std::filesystem::path& folder) {
  std::vector<StackFinding> findings;
  const auto disagreements = find_version_disagreements(spec.components, capability.fingerprint);
  for (const VersionDisagreement& disagreement : disagreements) {
    // find_system_problem has asked the package, which knows better than headers that misstate a patch number.
    const bool is_misstated = !spec.is_of_wheels() && disagreement.component == "torch" && disagreement.is_patch_only;
    findings.push_back({disagreement.text, is_misstated || was_exchanged(spec, disagreement, capability.fingerprint)});
  }
  const bool torch_is_named = std::any_of(disagreements.begin(), disagreements.end(),
                                          [](const auto& disagreement) { return disagreement.component == "torch"; });
  if (!torch_is_named && !agrees_with(spec.components.at("torch"), capability.torch_version)) {
    findings.push_back({fmt::format("torch: declared {}, the library says {}", spec.components.at("torch"),
                                    capability.torch_version)});
  }
  if (capability.fingerprint.cxx11_abi != spec.cxx11_abi) {
    findings.push_back({fmt::format("C++ ABI: declared {}, the worker was compiled with {}", spec.cxx11_abi,
                                    capability.fingerprint.cxx11_abi)});
  }
  for (const MappedLibrary& library : capability.fingerprint.libraries) {
    if (is_of_a_stack(library.path) && !lies_in_stack(library.path, spec, folder)) {
      findings.push_back({fmt::format("{} was loaded from outside the stack's folders", library.path)});
    }
  }
  return findings;
}

std::vector<std::string> find_changed_files(const std::filesystem::path& site, const StackManifest& manifest) {
  std::vector<std::string> findings;
  for (const UnpackedFile& file : manifest.files) {
    const std::filesystem::path path = site / file.path;
    if (!std::filesystem::exists(path)) {
      findings.push_back(fmt::format("{}: is missing", path.string()));
      continue;
    }
    if (const std::string got = sha256_of_file(path); got != file.sha256) {
      findings.push_back(fmt::format("{}: SHA-256 is {}, it was {} when installed", path.string(), got, file.sha256));
    }
  }
  return findings;
}

std::vector<std::string> find_changed_wheels(const std::filesystem::path& downloads,
                                             const std::vector<LockedWheel>& lock) {
  std::vector<std::string> findings;
  for (const LockedWheel& wheel : lock) {
    if (!std::filesystem::exists(downloads / wheel.file)) continue;
    const std::string got = sha256_of_file(downloads / wheel.file);
    if (got != wheel.sha256) {
      findings.push_back(fmt::format("{}: SHA-256 is {}, the lock says {}", wheel.file, got, wheel.sha256));
    }
  }
  return findings;
}

}  // namespace reprobench

#include "matrix/provision/stack_verify.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "matrix/provision/sha256.hpp"

namespace reprobench {
namespace {

// Libraries that belong to a stack, by the beginning of their file name. Others (C and C++ runtime, BLAS of a system
// stack) are the host's and part of the fingerprint, not of the stack.
constexpr std::array<std::string_view, 13> kStackLibraries = {
    "libtorch", "libc10",    "libcudart",   "libcupti",    "libcublas", "libcudnn",    "libnccl",
    "libcufft", "libcurand", "libcusolver", "libcusparse", "libnvrtc",  "libnvJitLink"};

std::string without_local_part(const std::string& version) { return version.substr(0, version.find('+')); }

bool begins_with_parts_of(const std::string& beginning, const std::string& version) {
  return version == beginning || version.starts_with(beginning + ".");
}

bool lies_in(const std::string& path, const std::string& folder) {
  return path.starts_with(folder.ends_with('/') ? folder : folder + "/");
}

// The worker names a library by its path below the stack's folder where it lies inside, and absolutely elsewhere.
bool lies_in_stack(const std::string& path, const StackSpec& spec, const std::filesystem::path& folder) {
  if (!path.starts_with('/') || lies_in(path, folder.string())) return true;
  return std::any_of(spec.library_dirs.begin(), spec.library_dirs.end(),
                     [&](const std::string& directory) { return lies_in(path, directory); });
}

// The number before the first dot; -1 where there is none.
int major_of(const std::string& version) {
  int major = -1;
  std::from_chars(version.data(), version.data() + version.size(), major);
  return major;
}

// Numbers between dots, for an order of versions.
std::vector<int> numbers_of(const std::string& version) {
  std::vector<int> numbers;
  for (std::size_t at = 0; at <= version.size();) {
    numbers.push_back(major_of(version.substr(at)));
    at = std::min(version.find('.', at), version.size()) + 1;
  }
  return numbers;
}

// CUDA, cuDNN and NCCL run what was built against an older release of their major, and publishers of wheels rely on it:
// torch 2.8.0 and 2.9.0 were built against cuDNN 9.8.0 and carry 9.10.2. Built against a newer one, or another major,
// the library may lack what torch calls.
bool runs_what_was_built_against(const std::string& declared, const std::string& compiled) {
  return agrees_with(declared, compiled) ||
         (major_of(declared) == major_of(compiled) && numbers_of(compiled) < numbers_of(declared));
}

// Whether a version fits the declaration. The patch number of a system stack's torch is judged by find_system_problem
// alone, which knows about headers that misstate it.
bool fits(const StackSpec& spec, const std::string& component, const std::string& actual) {
  const std::string& declared = spec.components.at(component);
  if (spec.source == StackSource::system && component == "torch") {
    return agrees_with(declared.substr(0, declared.rfind('.')), actual);
  }
  return agrees_with(declared, actual);
}

}  // namespace

bool agrees_with(const std::string& declared, const std::string& actual) {
  const bool both_local = declared.find('+') != std::string::npos && actual.find('+') != std::string::npos;
  if (both_local) return declared == actual;
  return begins_with_parts_of(without_local_part(declared), without_local_part(actual));
}

std::vector<std::string> find_version_disagreements(const StackSpec& spec, const Capability& capability,
                                                    const std::filesystem::path& folder) {
  std::vector<std::string> findings;
  for (const auto& [name, declared] : spec.components) {
    const auto& components = capability.fingerprint.components;
    const auto found =
        std::find_if(components.begin(), components.end(), [&](const auto& c) { return c.name == name; });
    if (found == components.end()) continue;
    if (!found->compiled.empty() && name == "torch" && !fits(spec, name, found->compiled)) {
      findings.push_back(
          fmt::format("torch: declared {}, the worker was compiled against {}", declared, found->compiled));
    }
    if (!found->compiled.empty() && name != "torch" && !runs_what_was_built_against(declared, found->compiled)) {
      findings.push_back(fmt::format("{}: declared {}, torch was built against {}", name, declared, found->compiled));
    }
    if (!found->loaded.empty() && !fits(spec, name, found->loaded)) {
      findings.push_back(fmt::format("{}: declared {}, loaded {} from {}", name, declared, found->loaded, found->path));
    }
  }
  if (!fits(spec, "torch", capability.torch_version)) {
    findings.push_back(
        fmt::format("torch: declared {}, the library says {}", spec.components.at("torch"), capability.torch_version));
  }
  if (capability.fingerprint.cxx11_abi != spec.cxx11_abi) {
    findings.push_back(fmt::format("C++ ABI: declared {}, the worker was compiled with {}", spec.cxx11_abi,
                                   capability.fingerprint.cxx11_abi));
  }
  for (const MappedLibrary& library : capability.fingerprint.libraries) {
    const std::string file = library.path.substr(library.path.rfind('/') + 1);
    const bool of_stack = std::any_of(kStackLibraries.begin(), kStackLibraries.end(),
                                      [&](std::string_view beginning) { return file.starts_with(beginning); });
    if (of_stack && !lies_in_stack(library.path, spec, folder)) {
      findings.push_back(fmt::format("{} was loaded from outside the stack's folders", library.path));
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

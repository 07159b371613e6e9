// The libraries of an installed stack as they were on the disk when a run began. Its workers must load these.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/document/description.hpp"

namespace reprobench {

struct InstalledLibrary {
  std::string path;  // relative inside the stack's folder, absolute outside, or only a name, as in the stack file
  std::string build_id;
  std::string sha256;
};

struct InstalledLibraries {
  std::vector<InstalledLibrary> libraries;
  std::vector<std::string> folders;  // folders, beside the system's, from which a system stack may load others
};

// Libraries that belong to a stack, by the beginning of their file name. Others (C and C++ runtime, BLAS of a
// distribution) belong to the host. They are part of the fingerprint, and not of the stack.
constexpr bool is_of_a_stack(std::string_view path) {
  constexpr std::array<std::string_view, 14> kBeginnings = {
      "libtorch", "libc10",    "libcudart",   "libcupti",    "libcublas", "libcudnn",     "libnccl",
      "libcufft", "libcurand", "libcusolver", "libcusparse", "libnvrtc",  "libnvJitLink", "libmkl"};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::ranges::any_of(kBeginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

// Whether the distribution or the GPU's driver brings this library for all programs.
constexpr bool is_of_the_host(std::string_view path) {
  constexpr std::array<std::string_view, 4> kFolders = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
  constexpr std::array<std::string_view, 2> kDriver = {"libcuda.so", "libnvidia-"};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::ranges::any_of(kFolders, [&](std::string_view folder) { return path.starts_with(folder); }) ||
         std::ranges::any_of(kDriver, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

template <>
struct Description<InstalledLibrary> {
  static constexpr About about = About::part("installed_library");
  static void fields(auto& field, InstalledLibrary& library) {
    field("path", library.path,
          rule::not_empty.says("Below the stack's folder, absolute outside it, or a name alone as its file has it."));
    field("build_id", library.build_id, "Empty if it has none.");
    field("sha256", library.sha256, rule::hex(64, true).says("Empty where only the build id is known."));
  }
};

template <>
struct Description<InstalledLibraries> {
  static constexpr About about = About::part("installed_libraries", "What the workers of a stack have to load.");
  static void fields(auto& field, InstalledLibraries& installed) {
    field("libraries", installed.libraries);
    field.optional("folders", installed.folders, "From which others may be loaded, beside the system's.");
  }
};

}  // namespace reprobench

// The packages of a Python environment by its metadata (NAME-VERSION.dist-info/METADATA).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

struct InstalledPackage {
  std::string name;                       // "nvidia-cudnn-cu12": lower case, with dashes
  std::string version;                    // "9.10.2.21"
  std::vector<std::string> requirements;  // Requires-Dist lines
};

// The package of the text of a METADATA file; its name is empty if the text has none.
InstalledPackage package_of_metadata(const std::string& text);

// The packages of torch and NVIDIA, in order of name. A package that was half removed, or installed twice, has an entry
// for each metadata folder.
std::vector<InstalledPackage> read_package_metadata(const std::filesystem::path& site);

// "torch" and "2.9.0" of `torch (==2.9.0) ; platform_system == "Linux"`: what a Requires-Dist line pins to one version
// on x86-64 Linux. Nothing for a range, an extra, or a condition that this does not know.
struct PackagePin {
  std::string name;
  std::string version;
};
std::optional<PackagePin> exact_pin(const std::string& requirement);

// "nvidia-cudnn-cu13==9.19.0.56": torch's requirement that pins a package with `words` in its name; empty if none does.
std::string torch_pin(const std::vector<InstalledPackage>& packages, std::string_view words);

// The same for the package that has a library such as "libcudnn.so.9".
std::string pin_of_library(const std::vector<InstalledPackage>& packages, std::string_view library);

}  // namespace reprobench

#include "matrix/provision/package_metadata.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "matrix/base/regular_file.hpp"

namespace reprobench {
namespace {

// A library by its beginning, and what the name of the package that brings it contains.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kPackageOfLibrary = {{
    {"libcudart", "cuda-runtime"},
    {"libcupti", "cuda-cupti"},
    {"libcudnn", "cudnn"},
    {"libcublas", "cublas"},
    {"libcufft", "cufft"},
    {"libcurand", "curand"},
    {"libcusolver", "cusolver"},
    {"libcusparseLt", "cusparselt"},
    {"libcusparse", "cusparse"},
    {"libnccl", "nccl"},
    {"libnvJitLink", "nvjitlink"},
    {"libnvrtc", "cuda-nvrtc"},
    {"libnvshmem", "nvshmem"},
    {"libcufile", "cufile"},
}};

std::string normal_name(std::string name) {
  for (char& c : name) c = c == '_' || c == '.' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

// The text after `key: ` at the beginning of a line.
bool value_after(const std::string& line, const std::string& key, std::string& value) {
  if (!line.starts_with(key + ": ")) return false;
  value = line.substr(key.size() + 2);
  if (value.ends_with('\r')) value.pop_back();
  return true;
}

constexpr std::int64_t kLargestMetadataBytes = 16 << 20;  // with the description

// Conditions of a requirement that hold on every host this project runs on.
constexpr std::string_view kTrueHere[] = {"platform_system==\"Linux\"", "sys_platform==\"linux\"",
                                          "platform_machine==\"x86_64\"", "os_name==\"posix\""};

// Whether all conditions are among those.
bool holds_here(const std::string& marker) {
  std::string text;
  for (const char c : marker) {
    if (c != ' ' && c != '(' && c != ')') text += c == '\'' ? '"' : c;
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find("and", at), text.size());
    const std::string term = text.substr(at, end - at);
    if (std::ranges::find(kTrueHere, term) == std::end(kTrueHere)) return false;
    at = end + 3;
  }
  return true;
}

}  // namespace

InstalledPackage package_of_metadata(const std::string& text) {
  InstalledPackage package;
  std::istringstream metadata(text);
  std::string name;
  // The header ends at the first empty line; what follows is the description.
  for (std::string line, requirement; std::getline(metadata, line) && !line.empty() && line != "\r";) {
    if (value_after(line, "Name", name)) package.name = normal_name(name);
    if (value_after(line, "Requires-Dist", requirement)) package.requirements.push_back(requirement);
    value_after(line, "Version", package.version);
  }
  return package;
}

std::optional<PackagePin> exact_pin(const std::string& requirement) {
  const std::size_t semicolon = requirement.find(';');
  if (semicolon != std::string::npos && !holds_here(requirement.substr(semicolon + 1))) return std::nullopt;
  const std::string stated = requirement.substr(0, semicolon);
  const std::size_t end_of_name = stated.find_first_of(" [(=<>!~");
  const std::size_t equals = stated.find("==");
  if (end_of_name == std::string::npos || equals == std::string::npos) return std::nullopt;
  if (stated.find_first_of("<>!~,*") != std::string::npos || stated.find("===") != std::string::npos)
    return std::nullopt;
  const std::size_t begin = stated.find_first_not_of(' ', equals + 2);
  if (begin == std::string::npos) return std::nullopt;
  return PackagePin{normal_name(stated.substr(0, end_of_name)),
                    stated.substr(begin, stated.find_first_of(" )", begin) - begin)};
}

std::vector<InstalledPackage> read_package_metadata(const std::filesystem::path& site) {
  std::vector<InstalledPackage> packages;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(site, error)) {
    const std::string folder = entry.path().filename().string();
    if (!folder.ends_with(".dist-info") || (!folder.starts_with("torch-") && !folder.starts_with("nvidia_"))) continue;
    InstalledPackage package =
        package_of_metadata(read_regular_file(entry.path() / "METADATA", kLargestMetadataBytes).text);
    if (!package.name.empty()) packages.push_back(std::move(package));
  }
  std::sort(packages.begin(), packages.end(),
            [](const auto& a, const auto& b) { return std::pair(a.name, a.version) < std::pair(b.name, b.version); });
  return packages;
}

std::string torch_pin(const std::vector<InstalledPackage>& packages, std::string_view words) {
  for (const InstalledPackage& package : packages) {
    if (package.name != "torch") continue;
    for (const std::string& requirement : package.requirements) {
      const std::string pin = requirement.substr(0, requirement.find_first_of("; "));
      if (pin.find("==") != std::string::npos && pin.find(words) != std::string::npos) return pin;
    }
  }
  return "";
}

// "nvidia-cusparse-cu12==..." or, of CUDA 13, "nvidia-cusparse==..."; "nvidia-cusparselt" is another one.
constexpr const char* kEndsOfName[] = {"-cu", "=="};

std::string pin_of_library(const std::vector<InstalledPackage>& packages, std::string_view library) {
  for (const auto& [beginning, words] : kPackageOfLibrary) {
    if (!library.starts_with(beginning)) continue;
    for (const char* end : kEndsOfName) {
      if (std::string pin = torch_pin(packages, std::string(words) + end); !pin.empty()) return pin;
    }
  }
  return "";
}

}  // namespace reprobench

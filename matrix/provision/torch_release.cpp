#include "matrix/provision/torch_release.hpp"

#include <charconv>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "matrix/base/regular_file.hpp"
#include "matrix/provision/version_header.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLargestSourceBytes = 1 << 20;
constexpr std::int64_t kLargestLibraryBytes = 256 << 20;  // a libc10 has 1 to 2 MB

std::string first_line(const fs::path& file) {
  const std::string text = read_regular_file(file, kLargestSourceBytes).text;
  return text.substr(0, text.find('\n'));
}

// "12.8" of "2.7.1+cu128".
std::string cuda_of_tag(const std::string& version) {
  const std::size_t tag = version.find("+cu");
  const std::string digits = tag == std::string::npos ? "" : version.substr(tag + 3);
  return digits.size() < 3 ? "" : digits.substr(0, digits.size() - 1) + "." + digits.back();
}

// Whether the functions that libc10 exports take the strings of the new ABI.
int cxx11_abi_of(const fs::path& libc10) {
  const std::string text = read_regular_file(libc10, kLargestLibraryBytes).text;
  for (std::size_t at = text.find("_ZN3c10"); at != std::string::npos; at = text.find("_ZN3c10", at + 1)) {
    if (std::string_view(text.c_str() + at).find("St7__cxx11") != std::string_view::npos) return 1;
  }
  return 0;
}

int number_in(const std::string& version, std::size_t at) {
  int number = 0;
  if (at < version.size()) std::from_chars(version.data() + at, version.data() + version.size(), number);
  return number;
}

int cxx_standard_of(const std::string& torch) {
  const int major = number_in(torch, 0);
  const int minor = number_in(torch, torch.find('.') + 1);
  if (major < 2 || (major == 2 && minor < 1)) return 14;
  return major == 2 && minor < 13 ? 17 : 20;
}

}  // namespace

std::string python_assignment(const std::string& text, std::string_view name) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(name) || line.find_first_of(" :=", name.size()) != name.size()) continue;
    const std::size_t open = line.find_first_of("'\"");
    if (open == std::string::npos) return "";
    return line.substr(open + 1, line.find_first_of("'\"", open + 1) - open - 1);
  }
  return "";
}

TorchRelease read_torch_release(const TorchPlace& place) {
  const fs::path folder = fs::path(place.lib).parent_path();
  const std::string version = read_regular_file(folder / "version.py", kLargestSourceBytes).text;
  TorchRelease release;
  release.compiled =
      torch_header_version({place.include, (fs::path(place.include) / "torch/csrc/api/include").string()});
  release.declared = python_assignment(version, "__version__");
  if (release.declared.empty()) release.declared = first_line(folder / "build-version");
  release.cuda = python_assignment(version, "cuda");
  if (release.cuda.empty()) release.cuda = cuda_of_tag(release.declared);
  if (release.declared.empty()) release.declared = release.compiled;
  release.cxx11_abi = cxx11_abi_of(fs::path(place.lib) / "libc10.so");
  release.cxx_standard = cxx_standard_of(release.declared);
  return release;
}

std::string without_local_part(const std::string& version) { return version.substr(0, version.find('+')); }

std::string leading_numbers(const std::string& version, int count) {
  std::size_t end = 0;
  for (int i = 0; i < count && end != std::string::npos; ++i) end = version.find('.', end == 0 ? 0 : end + 1);
  return version.substr(0, end);
}

}  // namespace reprobench

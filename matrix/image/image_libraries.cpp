#include "matrix/image/image_libraries.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "matrix/base/regular_file.hpp"
#include "matrix/provision/sha256.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kLargestConfigurationBytes = 1 << 20;
constexpr std::string_view kHash = "sha256=";

// Components by the beginnings of their libraries' names, the longest first.
struct ComponentLibraries {
  std::string_view beginning, component;
};
constexpr std::array<ComponentLibraries, 18> kComponents = {{
    {"libcusparseLt", "cusparselt"},
    {"libtorch", "torch"},
    {"libc10", "torch"},
    {"libcaffe2", "torch"},
    {"libcudart", "cuda"},
    {"libcupti", "cupti"},
    {"libcudnn", "cudnn"},
    {"libnccl.", "nccl"},
    {"libcublas", "cublas"},
    {"libcufft", "cufft"},
    {"libcurand", "curand"},
    {"libcusolver", "cusolver"},
    {"libcusparse", "cusparse"},
    {"libnvrtc", "nvrtc"},
    {"libnvJitLink", "nvjitlink"},
    {"libmkl", "mkl"},
    {"libopenblas", "openblas"},
    {"libnvshmem", "nvshmem"},
}};

// "2.28.9" of the text "NCCL version 2.28.9+cuda13.0" among the bytes of a file; empty if it is not there.
std::string nccl_version_in(const std::string& content) {
  constexpr std::string_view kBefore = "NCCL version ";
  const RegularFile file = open_regular_file(content, Links::refused);
  if (!file.problem.empty() || file.size_bytes == 0) return "";
  const std::size_t bytes = static_cast<std::size_t>(file.size_bytes);
  void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.fd.get(), 0);
  if (mapped == MAP_FAILED) return "";
  const std::string_view text(static_cast<const char*>(mapped), bytes);
  std::string version;
  for (std::size_t at = text.find(kBefore); at != std::string_view::npos && version.empty();
       at = text.find(kBefore, at + 1)) {
    const std::string_view rest = text.substr(at + kBefore.size(), 32);
    const std::size_t end = rest.find_first_not_of("0123456789.");
    if (end != std::string_view::npos && rest[end] == '+') version = rest.substr(0, end);
  }
  munmap(mapped, bytes);
  return version;
}

// As RECORD has it; empty if the file cannot be read.
std::string recorded_hash(const std::string& content) {
  const RegularFile file = open_regular_file(content, Links::refused);
  if (!file.problem.empty()) return "";
  Sha256 sha;
  std::vector<char> buffer(1 << 20);
  for (;;) {
    const ssize_t count = read(file.fd.get(), buffer.data(), buffer.size());
    if (count < 0) return "";
    if (count == 0) break;
    sha.update({buffer.data(), static_cast<std::size_t>(count)});
  }
  return std::string(kHash) + to_base64url(sha.finish());
}

// "9.10.2" of "libcudnn.so.9.10.2", where there are more numbers than in a soname.
std::string version_in_name(std::string_view name) {
  const std::size_t at = name.find(".so.");
  if (at == std::string_view::npos) return "";
  const std::string_view numbers = name.substr(at + 4);
  const bool is_whole = std::count(numbers.begin(), numbers.end(), '.') >= 2;
  return is_whole && numbers.find_first_not_of("0123456789.") == std::string_view::npos ? std::string(numbers) : "";
}

std::string identity_of_content(const ImageTree& tree, const std::string& path) {
  const ImageEntry* entry = tree.find(path);
  return entry == nullptr || entry->content.empty() ? "" : library_identity(entry->content);
}

}  // namespace

bool is_of_driver(std::string_view name) { return name.starts_with("libcuda.so") || name.starts_with("libnvidia-"); }

bool is_library_name(std::string_view name) {
  const bool is_library = name.starts_with("lib") || name.starts_with("ld-");  // the loader is asked for, too
  return is_library && (name.ends_with(".so") || name.find(".so.") != std::string_view::npos);
}

bool ImageFiles::exists(const std::string& path) const {
  return !hidden_.contains(path) && tree_.find(path) != nullptr;
}

std::optional<ElfLibrary> ImageFiles::read(const std::string& path) const {
  const ImageEntry* entry = tree_.find(path);
  if (entry == nullptr || entry->content.empty()) return std::nullopt;
  const std::string folder = path.substr(0, path.rfind('/'));
  return read_elf_library(entry->content, folder.empty() ? "/" : folder);
}

std::string ImageFiles::text(const std::string& path) const {
  return text_in(tree_, path, kLargestConfigurationBytes).text;
}

std::string ImageFiles::real_path(const std::string& path) const {
  const auto real = tree_.resolved(path);
  return real ? "/" + *real : path;
}

std::vector<std::string> ImageFiles::names_in(const std::string& folder) const { return tree_.names_in(folder); }

bool ImageFiles::is_same_content(const std::string& a, const std::string& b) const {
  return tree_.resolved(a) == tree_.resolved(b) || identity_of_content(tree_, a) == identity_of_content(tree_, b);
}

std::vector<std::string> libraries_not_in_cache(const std::vector<std::string>& first, const LoaderFolders& folders,
                                                const std::vector<FoundLibrary>& found, const ImageFiles& files) {
  const std::string cache = files.text("/etc/ld.so.cache");
  std::set<std::string> own;  // in which the loader looks by itself: those of a root without configuration
  const ImageTree nothing;
  for (const std::string& folder : host_library_folders("/", ImageFiles(nothing))) own.insert(files.real_path(folder));
  const auto is_own = [&](const std::string& folder) { return own.contains(files.real_path(folder)); };
  const auto is_unseen = [&](const FoundLibrary& library) {
    const std::string folder = library.path.substr(0, library.path.rfind('/'));
    const bool is_of_host = std::ranges::find(folders.of_host, folder) != folders.of_host.end();
    return is_of_host && !is_own(folder) && cache.find(library.path + '\0') == std::string::npos;
  };
  std::vector<std::string> unseen;
  for (const FoundLibrary& library : found) {
    if (is_unseen(library)) unseen.push_back(library.path);
  }
  if (unseen.empty()) return unseen;
  // Another way may lead to the same folder: LD_LIBRARY_PATH, or the library that needs it.
  LoaderFolders without = folders;
  std::erase_if(without.of_host, [&](const std::string& folder) { return !is_own(folder); });
  const LibrarySearch seen = search_libraries(first, without, files);
  std::erase_if(unseen, [&](const std::string& path) {
    return std::ranges::find(seen.found, path, &FoundLibrary::path) != seen.found.end();
  });
  return unseen;
}

std::string component_of_library(std::string_view name) {
  if (!is_library_name(name) || is_of_driver(name)) return "";
  for (const ComponentLibraries& libraries : kComponents) {
    if (name.starts_with(libraries.beginning)) return std::string(libraries.component);
  }
  return "";
}

void name_version(ImageLibrary& library, const std::string& content, const RecordedFiles& records) {
  const auto [first, last] = records.equal_range(library.path.substr(1));
  const std::string hash = first == last ? "" : recorded_hash(content);
  for (auto at = first; at != last && !hash.empty(); ++at) {
    if (!at->second.hash.starts_with(kHash)) continue;  // none, or of another kind: it tells nothing
    const ImagePackage& package = *at->second.package;
    const std::string said = fmt::format("{} {}", package.name, package.version);
    library.record = at->second.hash == hash ? RecordState::intact : RecordState::changed;
    library.evidence =
        library.record == RecordState::intact ? said + ", as recorded" : "not what " + said + " recorded";
    if (library.record == RecordState::changed) continue;
    library.version = package.version;
    break;
  }
  if (const std::string name = version_in_name(name_of_path(library.path)); first == last && !name.empty()) {
    library.version = name;
    library.evidence = "its file's name";
  }
  if (library.component != "nccl") return;
  if (const std::string version = nccl_version_in(content); !version.empty()) {
    library.version = version;
    library.evidence = "its own bytes";
  }
}

}  // namespace reprobench

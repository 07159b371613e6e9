#include "matrix/provision/library_search.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <set>
#include <sstream>

#include <fnmatch.h>

#include "matrix/base/elf_library.hpp"
#include "matrix/base/regular_file.hpp"
#include "matrix/provision/sha256.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostConfigurations = 1'000;

class HostFiles : public LibraryFiles {
 public:
  bool exists(const std::string& path) const override { return fs::exists(path); }
  std::optional<ElfLibrary> read(const std::string& path) const override { return read_elf_library(path); }
  std::string text(const std::string& path) const override {
    constexpr std::int64_t kLargestBytes = 1 << 20;
    return read_regular_file(path, kLargestBytes).text;
  }
  std::vector<std::string> names_in(const std::string& folder) const override {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  bool is_same_content(const std::string& a, const std::string& b) const override {
    std::error_code error;
    return fs::equivalent(a, b, error) || library_identity(a) == library_identity(b);
  }
};

// Folders that the lines of an ld.so.conf name, and the files it includes. A pattern is one of names in a folder.
void read_loader_configuration(const fs::path& file, const fs::path& root, const LibraryFiles& files,
                               std::set<fs::path>& read, std::vector<std::string>& folders) {
  if (!read.insert(file.lexically_normal()).second || read.size() > kMostConfigurations) return;
  std::istringstream stream(files.text(file.string()));
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    if (word != "include") {
      if (word.starts_with('/')) folders.push_back((root / word.substr(1)).string());
      continue;
    }
    for (std::string pattern; words >> pattern;) {
      const fs::path below = pattern.starts_with('/') ? root / pattern.substr(1) : file.parent_path() / pattern;
      for (const std::string& name : files.names_in(below.parent_path().string())) {
        if (fnmatch(below.filename().c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
        read_loader_configuration(below.parent_path() / name, root, files, read, folders);
      }
    }
  }
}

constexpr const char* kOfProcessors = "glibc-hwcaps";

struct ProcessorLevel {
  const char* folder;
  bool is_here;
};

// The best first, as the loader has them.
const std::array<ProcessorLevel, 3>& processor_levels() {
  static const std::array<ProcessorLevel, 3> levels = [] {
    __builtin_cpu_init();
    const bool v2 =
        __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("popcnt");
    const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    return std::array<ProcessorLevel, 3>{{{"x86-64-v4", v4}, {"x86-64-v3", v3}, {"x86-64-v2", v2}}};
  }();
  return levels;
}

// The files of one name in the folders of a search.
struct Copies {
  std::vector<std::string> in_order;       // as the loader on this processor finds them
  std::vector<std::string> of_processors;  // for some processors alone, also for none of this kind
  std::string of_all;                      // the first for the others; empty: there is none
};

Copies copies_of(const std::string& name, const std::vector<std::string>& folders, const LibraryFiles& files) {
  Copies copies;
  std::set<std::string> looked_in;  // a DT_RPATH often has a folder that the program's has, too
  for (const std::string& folder : folders) {
    if (!looked_in.insert(folder).second) continue;
    const fs::path special = fs::path(folder) / kOfProcessors;
    const bool has_special = files.exists(special.string());
    for (const ProcessorLevel& level : processor_levels()) {
      std::string path = has_special ? (special / level.folder / name).string() : "";
      if (path.empty() || !files.exists(path)) continue;
      copies.of_processors.push_back(path);
      if (level.is_here) copies.in_order.push_back(std::move(path));
    }
    std::string path = (fs::path(folder) / name).string();
    if (!files.exists(path)) continue;
    if (copies.of_all.empty()) copies.of_all = path;
    copies.in_order.push_back(std::move(path));
  }
  return copies;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// A library whose needs are looked for, with the DT_RPATHs of those that led to it.
struct Loaded {
  std::string path;
  ElfLibrary library;
  std::vector<std::string> inherited;
};

std::vector<std::string> folders_for_needs_of(const Loaded& loaded, const LoaderFolders& folders) {
  std::vector<std::string> order;
  if (loaded.library.runpath.empty()) {
    append(order, loaded.library.rpath);
    append(order, loaded.inherited);
  }
  append(order, folders.of_program);
  append(order, loaded.library.runpath);
  append(order, folders.of_host);
  return order;
}

}  // namespace

const LibraryFiles& files_of_host() {
  static const HostFiles files;
  return files;
}

std::vector<std::string> host_library_folders(const std::string& root, const LibraryFiles& files) {
  std::vector<std::string> folders;
  std::set<fs::path> read;  // a file may include itself
  read_loader_configuration(fs::path(root) / "etc/ld.so.conf", root, files, read, folders);
  for (const char* folder :
       {"lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib64", "usr/lib64", "lib", "usr/lib"}) {
    folders.push_back((fs::path(root) / folder).string());
  }
  return folders;
}

LibrarySearch search_libraries(const std::vector<std::string>& first, const LoaderFolders& folders,
                               const LibraryFiles& files) {
  LibrarySearch search;
  std::set<std::string> seen;
  std::deque<Loaded> waiting;
  const auto load = [&](std::string name, const std::string& path, const std::vector<std::string>& inherited) {
    auto library = files.read(path);
    if (!library || !library->is_x86_64) {
      search.damaged.push_back(path);
      return;
    }
    search.found.push_back({std::move(name), path});
    waiting.push_back({path, std::move(*library), inherited});
  };
  const auto note_processors = [&](const std::string& name, const Copies& copies) {
    for (const std::string& other : copies.of_processors) {
      if (!copies.of_all.empty() && files.is_same_content(copies.of_all, other)) continue;
      search.by_processor.push_back({name, copies.of_all, other});
    }
  };
  for (const std::string& path : first) {
    const auto library = files.read(path);
    const bool is_named = library && !library->soname.empty();
    std::string name = is_named ? library->soname : fs::path(path).filename().string();
    if (!seen.insert(name).second) continue;
    const Copies copies = copies_of(fs::path(path).filename(), {fs::path(path).parent_path()}, files);
    note_processors(name, copies);
    load(std::move(name), copies.in_order.empty() ? path : copies.in_order.front(), {});
  }
  while (!waiting.empty()) {
    const Loaded loaded = std::move(waiting.front());
    waiting.pop_front();
    const std::vector<std::string> order = folders_for_needs_of(loaded, folders);
    std::vector<std::string> passed_on =
        loaded.library.runpath.empty() ? loaded.library.rpath : std::vector<std::string>{};
    append(passed_on, loaded.inherited);
    for (const std::string& name : loaded.library.needed) {
      if (!seen.insert(name).second) continue;
      const Copies copies = copies_of(name, order, files);
      note_processors(name, copies);
      if (copies.in_order.empty()) {
        search.missing.push_back({name, loaded.path});
        continue;
      }
      const std::string& taken = copies.in_order.front();
      load(name, taken, passed_on);
      for (const std::string& other : copies.in_order) {
        if (!files.is_same_content(taken, other)) {
          search.second_copies.push_back({name, taken, other});
          break;
        }
      }
    }
  }
  return search;
}

std::string library_identity(const std::string& path) {
  const auto library = read_elf_library(path);
  return library && !library->build_id.empty() ? library->build_id : "sha256:" + sha256_of_file(path);
}

}  // namespace reprobench

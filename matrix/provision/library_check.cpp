#include "matrix/provision/library_check.hpp"

#include <map>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>

#include "matrix/base/elf_library.hpp"
#include "matrix/base/json_parse.hpp"
#include "matrix/base/pending_file.hpp"
#include "matrix/base/regular_file.hpp"
#include "matrix/contract/document/reader.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/provision/sha256.hpp"
#include "matrix/provision/store_folders.hpp"

namespace reprobench {

// The hash of a file, and the kernel's facts about it at that time. A change of its content changes the last of its
// times, which no program can set.
struct HashedLibrary {
  std::string path;
  std::int64_t size_bytes = 0;
  std::int64_t inode = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  std::string sha256;
  std::string build_id;

  bool is_as(const HashedLibrary& other) const {
    return path == other.path && size_bytes == other.size_bytes && inode == other.inode &&
           modified_ns == other.modified_ns && changed_ns == other.changed_ns;
  }
};
template <>
struct Description<HashedLibrary> {
  static constexpr About about = About::part("hashed_library");
  static void fields(auto& field, HashedLibrary& library) {
    field("path", library.path);
    field("size_bytes", library.size_bytes);
    field("inode", library.inode);
    field("modified_ns", library.modified_ns);
    field("changed_ns", library.changed_ns);
    field("sha256", library.sha256);
    field("build_id", library.build_id);
  }
};

struct HashedLibraries {
  std::vector<HashedLibrary> files;
};
template <>
struct Description<HashedLibraries> {
  static constexpr About about = About::document("hashed_libraries", "libraries.json: what was hashed, and when");
  static void fields(auto& field, HashedLibraries& hashed) { field("files", hashed.files); }
};

namespace {

constexpr const char* kName = "libraries.json";
constexpr const char* kAdoptedName = "adopted.json";
constexpr std::int64_t kLargestListBytes = 64 << 20;
// A file that is written twice between two ticks of the kernel's clock has one time of change for both.
constexpr std::int64_t kManyTicks_ns = 100'000'000;

std::int64_t in_ns(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

bool may_change_unseen(const HashedLibrary& library) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return library.changed_ns > in_ns(now) - kManyTicks_ns;
}

// Nothing: there is no such file. `path` is below `folder`.
std::optional<HashedLibrary> as_it_lies(const std::filesystem::path& folder, const std::string& path) {
  struct stat status {};
  if (stat((folder / path).c_str(), &status) != 0) return std::nullopt;
  return HashedLibrary{
      path, status.st_size, static_cast<std::int64_t>(status.st_ino), in_ns(status.st_mtim), in_ns(status.st_ctim), "",
      ""};
}

// A file that is missing or damaged only makes everything to be hashed again.
std::map<std::string, HashedLibrary> hashed_before(const std::filesystem::path& folder, const char* name = kName) {
  std::map<std::string, HashedLibrary> known;
  const nlohmann::json json = json_or_discarded(read_regular_file(folder / name, kLargestListBytes).text);
  if (json.is_discarded()) return known;
  try {
    for (HashedLibrary& library : read_document<HashedLibraries>(json).files) known.emplace(library.path, library);
  } catch (const ContractError&) {
    known.clear();
  }
  return known;
}

void keep(const std::filesystem::path& folder, const HashedLibraries& hashed) {
  try {
    PendingFile file(folder / kName, 0644);
    file.append(written(hashed).dump(1) + "\n");
    file.publish();
  } catch (const std::system_error&) {
    return;  // a store that can only be read is hashed at every run
  }
}

// Files of a stack's folder against the hashes that they had.
class FileCheck {
 public:
  explicit FileCheck(const std::filesystem::path& folder) : folder_(folder), known_(hashed_before(folder)) {}

  // Nothing: there is no such file. `since` says when it had this hash: "installed".
  std::optional<HashedLibrary> check(const std::string& path, const std::string& sha256, const char* since) {
    std::optional<HashedLibrary> file = as_it_lies(folder_, path);
    if (!file) {
      changed_.push_back(fmt::format("{} is missing", (folder_ / path).string()));
      return std::nullopt;
    }
    const auto before = known_.find(path);
    if (before != known_.end() && before->second.is_as(*file)) {
      file = before->second;
    } else {
      is_new_ = is_new_ || !may_change_unseen(*file);
      file->sha256 = sha256_of_file(folder_ / path);
      const auto elf = read_elf_library(folder_ / path);
      file->build_id = elf ? elf->build_id : "";
    }
    if (file->sha256 != sha256) {
      changed_.push_back(
          fmt::format("{}: SHA-256 is {}, it was {} when {}", (folder_ / path).string(), file->sha256, sha256, since));
    }
    if (!may_change_unseen(*file)) now_.files.push_back(*file);
    return file;
  }
  void keep_new_hashes() const {
    if (is_new_) keep(folder_, now_);
  }
  const std::vector<std::string>& changed() const { return changed_; }

 private:
  std::filesystem::path folder_;
  std::map<std::string, HashedLibrary> known_;
  HashedLibraries now_;
  std::vector<std::string> changed_;
  bool is_new_ = false;
};

}  // namespace

LibraryCheck check_libraries(const std::filesystem::path& folder, const StackManifest& manifest,
                             const std::filesystem::path& worker) {
  FileCheck files(folder);
  LibraryCheck check;
  for (const UnpackedFile& file : manifest.files) {
    const std::string path = "site/" + file.path;
    const std::optional<HashedLibrary> library = files.check(path, file.sha256, "installed");
    if (library) check.installed.libraries.push_back({path, library->build_id, file.sha256});
  }
  for (const auto& [path, adopted] : hashed_before(folder, kAdoptedName)) {
    files.check(path, adopted.sha256, "adopted");
  }
  if (!worker.empty()) {
    const std::string digest = read_regular_file(worker.parent_path() / kWorkerDigestName, kLargestListBytes).text;
    files.check(worker.lexically_relative(folder).string(), digest, "built");
  }
  files.keep_new_hashes();
  check.changed = files.changed();
  return check;
}

void hash_adopted_libraries(const std::filesystem::path& folder, const std::vector<std::string>& paths) {
  HashedLibraries adopted;
  for (const std::string& path : paths) {
    HashedLibrary library;
    library.path = std::filesystem::canonical(path).string();
    library.sha256 = sha256_of_file(library.path);
    adopted.files.push_back(std::move(library));
  }
  PendingFile file(folder / kAdoptedName, 0644);
  file.append(written(adopted).dump(1) + "\n");
  file.publish();
}

std::filesystem::path linked_site(const std::filesystem::path& worker) {
  const auto elf = read_elf_library(worker);
  if (!elf) return {};
  for (const auto* folders : {&elf->rpath, &elf->runpath}) {
    for (const std::filesystem::path folder : *folders) {
      if (folder.string().ends_with("/site/torch/lib")) return folder;
    }
  }
  return {};
}

}  // namespace reprobench

#include "matrix/provision/library_check.hpp"

#include <fstream>
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
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/sha256.hpp"

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
constexpr std::int64_t kLargestListBytes = 64 << 20;
// A file that is written twice between two ticks of the kernel's clock has one time of change for both.
constexpr std::int64_t kManyTicks_ns = 100'000'000;

std::int64_t in_ns(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

bool may_change_unseen(const HashedLibrary& library) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return library.changed_ns > in_ns(now) - kManyTicks_ns;
}

// Nothing: there is no such file.
std::optional<HashedLibrary> as_it_lies(const std::filesystem::path& site, const std::string& path) {
  struct stat status {};
  if (stat((site / path).c_str(), &status) != 0) return std::nullopt;
  return HashedLibrary{
      path, status.st_size, static_cast<std::int64_t>(status.st_ino), in_ns(status.st_mtim), in_ns(status.st_ctim), "",
      ""};
}

// A file that is missing or damaged only makes everything to be hashed again.
std::map<std::string, HashedLibrary> hashed_before(const std::filesystem::path& folder) {
  std::map<std::string, HashedLibrary> known;
  const nlohmann::json json = json_or_discarded(read_regular_file(folder / kName, kLargestListBytes).text);
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

}  // namespace

LibraryCheck check_libraries(const std::filesystem::path& folder, const StackManifest& manifest) {
  const std::filesystem::path site = folder / "site";
  const auto known = hashed_before(folder);
  LibraryCheck check;
  HashedLibraries now;
  bool is_new = false;
  for (const UnpackedFile& file : manifest.files) {
    std::optional<HashedLibrary> library = as_it_lies(site, file.path);
    if (!library) {
      check.changed.push_back(fmt::format("{} is missing", (site / file.path).string()));
      continue;
    }
    const auto before = known.find(file.path);
    if (before != known.end() && before->second.is_as(*library)) {
      library = before->second;
    } else {
      is_new = is_new || !may_change_unseen(*library);
      library->sha256 = sha256_of_file(site / file.path);
      const auto elf = read_elf_library(site / file.path);
      library->build_id = elf ? elf->build_id : "";
    }
    if (library->sha256 != file.sha256) {
      check.changed.push_back(fmt::format("{}: SHA-256 is {}, it was {} when installed", (site / file.path).string(),
                                          library->sha256, file.sha256));
    }
    check.installed.libraries.push_back({"site/" + file.path, library->build_id, file.sha256});
    if (!may_change_unseen(*library)) now.files.push_back(std::move(*library));
  }
  if (is_new) keep(folder, now);
  return check;
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

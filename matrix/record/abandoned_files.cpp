#include "matrix/record/abandoned_files.hpp"

#include <cerrno>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

namespace reprobench {
namespace {

namespace fs = std::filesystem;

FileDescriptor open_folder(const fs::path& folder) {
  const fs::path path = folder.empty() ? "." : folder;
  return FileDescriptor(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool is_temporary_name(std::string_view name) {
  constexpr std::string_view kEnd = ".tmp";
  constexpr std::size_t kHexDigits = 16;
  if (!name.starts_with('.') || !name.ends_with(kEnd) || name.size() < kEnd.size() + kHexDigits + 3) return false;
  name.remove_suffix(kEnd.size());
  const std::string_view digits = name.substr(name.size() - kHexDigits);
  return name[name.size() - kHexDigits - 1] == '.' &&
         digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_merge_name(std::string_view name) { return name.starts_with('.') && name.ends_with(".merging"); }

// The log and the like of such a file too.
bool is_unfinished_index_name(std::string_view name) {
  return name.starts_with(".index.") && name.find(".db") != std::string_view::npos;
}

std::vector<fs::path> entries_named(const fs::path& folder, const std::function<bool(std::string_view)>& is_meant) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (is_meant(entry->path().filename().string())) found.push_back(entry->path());
  }
  return found;
}

// A merge holds the lock of the run that it builds. Without a lock file it died before it was a run.
bool is_held(const fs::path& merge) {
  const FileDescriptor lock(open((merge / "lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!lock.is_open()) return errno != ENOENT;
  return flock(lock.get(), LOCK_EX | LOCK_NB) != 0;
}

}  // namespace

FileDescriptor own_hidden_names(const fs::path& folder) {
  FileDescriptor fd = open_folder(folder);
  if (!fd.is_open()) return fd;
  int status = 0;
  do {
    status = flock(fd.get(), LOCK_SH);  // who holds it exclusively removes a few files, no more
  } while (status != 0 && errno == EINTR);
  return status == 0 ? std::move(fd) : FileDescriptor();
}

void remove_abandoned_files(const fs::path& folder) {
  const FileDescriptor lock = open_folder(folder);
  if (!lock.is_open() || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
  std::error_code ignored;
  for (const fs::path& file : entries_named(folder, is_temporary_name)) {
    if (fs::is_regular_file(fs::symlink_status(file, ignored))) fs::remove(file, ignored);
  }
}

void remove_abandoned_merges(const fs::path& runs) {
  const FileDescriptor lock = open_folder(runs);
  if (!lock.is_open() || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
  std::error_code ignored;
  for (const fs::path& merge : entries_named(runs, is_merge_name)) {
    if (fs::is_directory(fs::symlink_status(merge, ignored)) && !is_held(merge)) fs::remove_all(merge, ignored);
  }
}

void remove_abandoned_indexes(const fs::path& store) {
  std::error_code ignored;
  for (const fs::path& file : entries_named(store, is_unfinished_index_name)) fs::remove(file, ignored);
}

bool has_unfinished_index(const fs::path& store) { return !entries_named(store, is_unfinished_index_name).empty(); }

}  // namespace reprobench

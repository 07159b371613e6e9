#include "matrix/exec/attempt_disk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "matrix/base/file_descriptor.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kEntryBytes = 4096;  // a name, an inode
constexpr int kDeepestFolder = 64;

// Adds up what lies in a folder until it is more than the limit. By descriptors, so that no path is too long, and no
// link that somebody puts there meanwhile is followed.
class FolderSize {
 public:
  explicit FolderSize(std::int64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  void add(int parent, const char* name, int depth) {
    FileDescriptor fd(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.is_open()) return note_error();
    if (depth > kDeepestFolder) {
      problem_ = fmt::format("folders of the attempt are nested deeper than {}", kDeepestFolder);
      return;
    }
    DIR* entries = fdopendir(fd.get());
    if (entries == nullptr) return note_error();
    const int folder = fd.release();  // closedir() closes it
    while (const dirent* entry = goes_on() ? readdir(entries) : nullptr) {
      const std::string_view entry_name = entry->d_name;
      if (entry_name != "." && entry_name != "..") add_entry(folder, entry->d_name, depth);
    }
    closedir(entries);
  }

  bool is_over() const { return bytes_ > limit_bytes_; }
  const std::string& problem() const { return problem_; }

 private:
  bool goes_on() const { return !is_over() && problem_.empty(); }

  void add_entry(int folder, const char* name, int depth) {
    struct stat status {};
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return note_error();
    bytes_ += std::max<std::int64_t>(kEntryBytes, std::int64_t{status.st_blocks} * 512);
    if (S_ISDIR(status.st_mode)) add(folder, name, depth + 1);
  }

  // An entry may go away, or become something else, between two looks at it.
  void note_error() {
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return;
    problem_ = fmt::format("a folder of the attempt cannot be looked into: {}", std::strerror(errno));
  }

  std::int64_t limit_bytes_;
  std::int64_t bytes_ = 0;
  std::string problem_;
};

}  // namespace

std::string over_disk_bound(const std::filesystem::path& folder, const DiskBound& bound) {
  if (bound.attempt_bytes > 0) {
    FolderSize size(bound.attempt_bytes);
    size.add(AT_FDCWD, folder.c_str(), 0);
    if (!size.problem().empty()) return size.problem();
    if (size.is_over()) return fmt::format("its files take more than {} bytes of the disk", bound.attempt_bytes);
  }
  struct statvfs disk {};
  if (bound.free_bytes > 0 && statvfs(folder.c_str(), &disk) == 0) {
    const auto left = static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
    if (left < bound.free_bytes) {
      return fmt::format("{} bytes are left on the disk, and {} have to be while it runs", left, bound.free_bytes);
    }
  }
  return "";
}

}  // namespace reprobench

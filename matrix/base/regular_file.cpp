#include "matrix/base/regular_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>

namespace reprobench {
namespace {

constexpr std::size_t kChunkBytes = 256u << 10;

}  // namespace

RegularFile open_regular_file(const std::filesystem::path& path, Links links) {
  RegularFile file;
  // O_NONBLOCK: opening a FIFO nobody writes to must not wait.
  const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | (links == Links::refused ? O_NOFOLLOW : 0);
  FileDescriptor fd(open(path.c_str(), flags));
  struct stat status {};
  if (!fd.is_open() || fstat(fd.get(), &status) != 0) {
    file.problem = errno == ENOENT                             ? "missing"
                   : errno == ELOOP && links == Links::refused ? "is a symbolic link"
                                                               : std::strerror(errno);
  } else if (!S_ISREG(status.st_mode)) {
    file.problem = "is not a regular file";
  } else {
    file.fd = std::move(fd);
    file.size_bytes = status.st_size;
    file.names = static_cast<std::int64_t>(status.st_nlink);
  }
  return file;
}

FileText read_regular_file(const RegularFile& file, std::int64_t limit_bytes) {
  if (!file.problem.empty()) return {"", file.problem};
  const FileText too_large{"", "is larger than " + std::to_string(limit_bytes) + " bytes"};
  if (file.size_bytes > limit_bytes) return too_large;  // before any of it is held in memory
  FileText read;
  for (;;) {
    const std::size_t before = read.text.size();
    read.text.resize(before + kChunkBytes);
    const ssize_t count = ::read(file.fd.get(), read.text.data() + before, kChunkBytes);
    const int error = errno;
    read.text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && error == EINTR) continue;
    if (count < 0) return {"", std::strerror(error)};
    if (count == 0) return read;
    if (read.text.size() > static_cast<std::size_t>(limit_bytes)) return too_large;  // it grew
  }
}

FileText read_regular_file(const std::filesystem::path& path, std::int64_t limit_bytes, Links links) {
  return read_regular_file(open_regular_file(path, links), limit_bytes);
}

}  // namespace reprobench

#include "matrix/base/pending_file.hpp"

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/random.h>

#include "matrix/base/number.hpp"
#include "matrix/base/write_fully.hpp"

namespace reprobench {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw std::system_error(error, std::generic_category(), path.string());
}

// Two writers of one file get different hidden names.
std::filesystem::path hidden_name(const std::filesystem::path& path) {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) fail(path, errno);
  return path.parent_path() / ("." + path.filename().string() + "." + hex64(random) + ".tmp");
}

// Makes the rename itself durable.
void sync_folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const FileDescriptor fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open() || fsync(fd.get()) != 0) fail(folder, errno);
}

}  // namespace

PendingFile::PendingFile(std::filesystem::path path, mode_t mode)
    : path_(std::move(path)),
      temporary_(hidden_name(path_)),
      file_(open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)) {
  if (!file_.is_open()) fail(path_, errno);
}

PendingFile::~PendingFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void PendingFile::append(std::string_view bytes) {
  if (const int error = write_fully(file_.get(), bytes)) fail(path_, error);
}

void PendingFile::publish() {
  if (fsync(file_.get()) != 0 || close(file_.release()) != 0) fail(path_, errno);
  std::filesystem::rename(temporary_, path_);
  temporary_.clear();
  sync_folder_of(path_);
}

}  // namespace reprobench

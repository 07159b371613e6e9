#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "matrix/contract/number.hpp"
#include "matrix/record/file_descriptor.hpp"
#include "matrix/record/plain_file.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/write_fully.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kLargestDocumentBytes = 4ll << 30;

[[noreturn]] void cannot_write(const std::filesystem::path& path, int error) {
  throw StoreError("cannot write " + path.string() + ": " + std::strerror(error));
}

std::filesystem::path temporary_name(const std::filesystem::path& path) {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) cannot_write(path, errno);
  return path.parent_path() / ("." + path.filename().string() + "." + hex64(random) + ".tmp");
}

// Makes the rename itself durable.
void sync_folder(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const FileDescriptor fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open() || fsync(fd.get()) != 0) cannot_write(path, errno);
}

}  // namespace

int write_fully(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  write_file_atomically(path, [&](const TextSink& sink) { sink(content); });
}

void write_file_atomically(const std::filesystem::path& path, const std::function<void(const TextSink&)>& write) {
  const std::filesystem::path temporary = temporary_name(path);
  FileDescriptor fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.is_open()) cannot_write(path, errno);
  int error = 0;
  write([&](std::string_view part) {
    if (error == 0) error = write_fully(fd.get(), part);
  });
  if (error == 0 && fsync(fd.get()) != 0) error = errno;
  if (error == 0 && close(fd.release()) != 0) error = errno;
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(temporary.c_str());
    cannot_write(path, error);
  }
  sync_folder(path);
}

std::string read_file(const std::filesystem::path& path) {
  auto content = read_plain_file(path, kLargestDocumentBytes);
  if (const auto* problem = std::get_if<FileProblem>(&content)) {
    throw StoreError("cannot read " + path.string() + ": " + problem->text);
  }
  return std::get<std::string>(std::move(content));
}

}  // namespace reprobench

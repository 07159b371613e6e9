#include "suites/worker/result_file.hpp"

#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace reprobench {
namespace {

[[noreturn]] void throw_errno(const std::filesystem::path& path) {
  throw std::system_error(errno, std::generic_category(), path.string());
}

void write_and_sync(const std::filesystem::path& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) throw_errno(path);
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t count = ::write(file, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_errno(path);
    written += static_cast<std::size_t>(count);
  }
  if (fsync(file) != 0 || close(file) != 0) throw_errno(path);
}

}  // namespace

void write_result(const std::filesystem::path& path, const CellResult& result) {
  const std::filesystem::path temporary = path.string() + ".tmp";
  write_and_sync(temporary, to_json(result).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  std::filesystem::rename(temporary, path);
  const std::filesystem::path parent = path.parent_path().empty() ? "." : path.parent_path();
  const int folder = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) throw_errno(parent);
  fsync(folder);
  close(folder);
}

}  // namespace reprobench

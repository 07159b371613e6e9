#include "matrix/lint/machine.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include <arpa/inet.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "matrix/base/file_descriptor.hpp"

namespace reprobench {
namespace {

bool is_this_host(const std::string& address) {
  if (address.empty() || address == "localhost" || address == "::1" || address.starts_with("127.")) return true;
  std::string name(256, '\0');
  if (gethostname(name.data(), name.size()) != 0) return false;
  name.resize(std::min(name.find('\0'), name.size()));
  return address == name;
}

}  // namespace

std::map<std::string, std::string> rendezvous_environment() {
  std::map<std::string, std::string> variables;
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    if (const char* value = std::getenv(name)) variables[name] = value;
  }
  return variables;
}

std::optional<bool> is_port_taken(const std::string& address, const std::string& port) {
  std::uint16_t number = 0;
  const auto read = std::from_chars(port.data(), port.data() + port.size(), number);
  if (read.ec != std::errc() || read.ptr != port.data() + port.size() || number == 0) return std::nullopt;
  if (!is_this_host(address)) return std::nullopt;
  const FileDescriptor socket_fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket_fd.get() < 0) return std::nullopt;
  const int reuse = 1;  // as torch's store does: a port that is only being forgotten is free
  setsockopt(socket_fd.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_ANY);
  any.sin_port = htons(number);
  if (bind(socket_fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0) return false;
  return errno == EADDRINUSE ? std::optional(true) : std::nullopt;
}

OffloadFolder look_at_folder(const std::string& path) {
  OffloadFolder folder;
  std::error_code error;
  folder.is_folder = std::filesystem::is_directory(path, error);
  if (!folder.is_folder) return folder;
  folder.resolved = std::filesystem::canonical(path, error).string();
  folder.is_writable = access(path.c_str(), W_OK) == 0;
  struct statfs found {};
  if (statfs(path.c_str(), &found) == 0) {
    folder.is_in_memory = found.f_type == TMPFS_MAGIC || found.f_type == RAMFS_MAGIC;
    folder.free_bytes = static_cast<std::int64_t>(found.f_bavail) * static_cast<std::int64_t>(found.f_bsize);
  }
  return folder;
}

std::optional<std::int64_t> shared_memory_bytes() {
  struct statfs found {};
  if (statfs("/dev/shm", &found) != 0) return std::nullopt;
  return static_cast<std::int64_t>(found.f_blocks) * static_cast<std::int64_t>(found.f_bsize);
}

}  // namespace reprobench

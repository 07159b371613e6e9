#include "matrix/provision/inside_root.hpp"

#include <cerrno>
#include <cstring>
#include <exception>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/base/write_fully.hpp"
#include "matrix/provision/provision_error.hpp"

namespace reprobench {
namespace {

constexpr int kPatience_ms = 120'000;  // between two pieces of an answer
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

// The first letter of an answer.
constexpr char kTold = '+';
constexpr char kThrew = '-';

// Empty, or why this process cannot make `root` its own.
std::string enter(const std::filesystem::path& root) {
  if (chdir(root.c_str()) != 0) return fmt::format("cannot be entered: {}", std::strerror(errno));
  // A user who is not root may change the root in a user namespace.
  if (geteuid() != 0 && unshare(CLONE_NEWUSER) != 0) {
    return fmt::format("no user namespace to read it in: {}; run as root", std::strerror(errno));
  }
  if (chroot(".") != 0) return fmt::format("cannot be made the root of a process: {}", std::strerror(errno));
  return "";
}

[[noreturn]] void tell_into(int fd, const std::filesystem::path& root, const std::function<std::string()>& tell) {
  std::string answer;
  try {
    const std::string problem = enter(root);
    answer = problem.empty() ? kTold + tell() : kThrew + fmt::format("{} {}", root.string(), problem);
  } catch (const std::exception& error) {
    answer = std::string(1, kThrew) + error.what();
  }
  _exit(write_fully(fd, answer) == 0 ? 0 : 1);
}

// To the end of what is written there; empty if nothing more comes for too long, or too much.
std::string read_all(int fd) {
  std::string text;
  char buffer[64 << 10];
  for (;;) {
    pollfd polled{fd, POLLIN, 0};
    if (poll(&polled, 1, kPatience_ms) == 0) return "";
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > kMostBytes) return "";
  }
}

}  // namespace

std::string told_inside(const std::filesystem::path& root, const std::function<std::string()>& tell) {
  if (!std::filesystem::is_directory(root)) throw ProvisionError(fmt::format("{} is no folder", root.string()));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw ProvisionError(fmt::format("no pipe: {}", std::strerror(errno)));
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  const pid_t child = fork();
  if (child < 0) throw ProvisionError(fmt::format("no process to read {} in: {}", root.string(), std::strerror(errno)));
  if (child == 0) tell_into(write_end.get(), root, tell);
  write_end.reset();
  const std::string answer = read_all(read_end.get());
  if (answer.empty()) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (answer.empty() || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw ProvisionError(fmt::format("{} could not be read to its end", root.string()));
  }
  if (answer.front() == kThrew) throw ProvisionError(answer.substr(1));
  return answer.substr(1);
}

}  // namespace reprobench

#include "matrix/host/library_load.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "matrix/base/file_descriptor.hpp"

namespace reprobench {
namespace {

using Steady = std::chrono::steady_clock;

constexpr char kLoaded = '+';
constexpr char kRefused = '-';

// The child's part: one letter and a text, and no end that runs what this process has to do at its own.
[[noreturn]] void load_and_tell(const char* name, int fd) {
  void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  link_map* map = nullptr;
  const bool is_loaded = library != nullptr && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0;
  const char* text = is_loaded ? map->l_name : dlerror();
  if (text == nullptr) text = "the loader gives no reason";
  const bool is_told = write(fd, is_loaded ? &kLoaded : &kRefused, 1) == 1 && write(fd, text, std::strlen(text)) >= 0;
  _exit(is_told ? 0 : 1);
}

// All that comes until the other end closes; nothing where that takes longer than `patience`.
std::optional<std::string> read_to_end(int fd, std::chrono::milliseconds patience) {
  const auto end = Steady::now() + patience;
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Steady::now()).count();
    if (left <= 0) return std::nullopt;
    pollfd polled{fd, POLLIN, 0};
    if (poll(&polled, 1, static_cast<int>(left)) <= 0) continue;
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) return text;
  }
}

// One that a wedged driver holds cannot even be killed: it is not waited for long.
void reap(pid_t child) {
  for (int tries = 0; tries < 100 && waitpid(child, nullptr, WNOHANG) == 0; ++tries) usleep(10'000);
}

}  // namespace

LibraryLoad try_to_load(const std::string& name, std::chrono::milliseconds patience) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {"", std::strerror(errno)};
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  const pid_t child = fork();
  if (child < 0) return {"", std::strerror(errno)};
  if (child == 0) load_and_tell(name.c_str(), write_end.get());
  write_end.reset();
  const auto told = read_to_end(read_end.get(), patience);
  if (!told) kill(child, SIGKILL);
  reap(child);
  if (!told) return {"", "loading it does not come back"};
  if (told->empty()) return {"", "loading it ends the process"};
  return told->front() == kLoaded ? LibraryLoad{told->substr(1), ""} : LibraryLoad{"", told->substr(1)};
}

}  // namespace reprobench

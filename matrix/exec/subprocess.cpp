#include "matrix/exec/subprocess.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/exec/helper_environment.hpp"
#include "matrix/exec/process_spawn.hpp"

namespace reprobench {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kCannotStart = 127;
constexpr milliseconds kGrace{2'000};
constexpr int kShepherdsControlFd = 3;  // in the shepherd
constexpr milliseconds kLongestPoll{200};

struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// One output of the child, read until its end.
struct Stream {
  FileDescriptor fd;
  std::string* kept;

  void take(const SubprocessOptions& options) {
    std::array<char, 64 << 10> buffer;
    const ssize_t count = read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) {
      fd.reset();
      return;
    }
    const std::string_view chunk(buffer.data(), static_cast<std::size_t>(count));
    const std::size_t space = options.capture_bytes - std::min(options.capture_bytes, kept->size());
    kept->append(chunk.substr(0, space));
    if (options.on_output) options.on_output(chunk);
  }
};

// The child's process group is told to end once its time is over, and killed after the grace.
class Deadline {
 public:
  Deadline(pid_t group, milliseconds timeout) : group_(group), is_armed_(timeout.count() > 0) {
    next_ = Steady::now() + timeout;
  }

  // True once the time was over.
  bool enforce() {
    if (!is_armed_ || Steady::now() < next_) return was_over_;
    kill(-group_, was_over_ ? SIGKILL : SIGTERM);
    was_over_ = true;
    next_ = Steady::now() + kGrace;
    return true;
  }

 private:
  pid_t group_;
  bool is_armed_;
  bool was_over_ = false;
  Steady::time_point next_;
};

// True if the child has ended; then `status` is set.
bool try_reap(pid_t pid, int& status) { return waitpid(pid, &status, WNOHANG) == pid; }

}  // namespace

SubprocessResult run_subprocess(const SubprocessOptions& options) {
  SubprocessResult result;
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  SpawnRequest request{options.command,
                       options.environment ? options.environment : helper_environment(),
                       options.working_directory,
                       {{out.write_end.get(), STDOUT_FILENO}, {err.write_end.get(), STDERR_FILENO}},
                       /*own_group=*/true};
  Pipe control;  // its end tells the shepherd that this process is gone
  if (!options.shepherd.empty()) {
    control = make_pipe();
    request.descriptors.emplace_back(control.read_end.get(), kShepherdsControlFd);
    // Neither nonce, rank, folder nor log: it relays.
    request.command = options.enclosure;
    request.command.insert(request.command.end(), {options.shepherd, std::to_string(kShepherdsControlFd), "-", "0", "-",
                                                   "0", std::to_string(kGrace.count())});
    request.command.insert(request.command.end(), options.command.begin(), options.command.end());
  }
  pid_t pid = -1;
  try {
    pid = spawn_process(request);
  } catch (const std::system_error& error) {
    result.exit_code = kCannotStart;
    result.launch_error = error.what();
    return result;
  }
  out.write_end.reset();
  err.write_end.reset();
  control.read_end.reset();
  std::array<Stream, 2> streams{{{std::move(out.read_end), &result.out}, {std::move(err.read_end), &result.err}}};
  Deadline deadline(pid, options.timeout);
  int status = 0;
  bool ended = false;
  // Somebody the child left behind may hold its outputs open: after its end they are read only while they have
  // something.
  while (!ended || streams[0].fd.is_open() || streams[1].fd.is_open()) {
    std::array<pollfd, 2> polled{{{streams[0].fd.get(), POLLIN, 0}, {streams[1].fd.get(), POLLIN, 0}}};
    const bool all_closed = !streams[0].fd.is_open() && !streams[1].fd.is_open();
    const int timeout_ms = ended ? 0 : all_closed ? 5 : static_cast<int>(kLongestPoll.count());
    const int ready = poll(polled.data(), polled.size(), timeout_ms);
    if (ended && ready <= 0) break;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (polled[i].revents != 0) streams[i].take(options);
    }
    result.timed_out = deadline.enforce();
    if (!ended) ended = try_reap(pid, status);
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::map<std::string, std::string> inherited_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return variables;
}

std::string find_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string candidate = std::string(rest.substr(0, colon)) + "/" + name;
    if (candidate.front() == '/' && colon != 0 && access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
  }
  return "";
}

}  // namespace reprobench

#include "matrix/exec/local_launcher.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "matrix/exec/process_spawn.hpp"
#include "matrix/exec/shepherd/process_tree.hpp"
#include "matrix/record/file_descriptor.hpp"

namespace reprobench {

struct WatchedAttempt {
  AttemptHandle handle = 0;
  pid_t shepherd = -1;
  FileDescriptor shepherd_fd;  // pidfd: readable once the shepherd has ended
  FileDescriptor control;
  std::string trace_path;
  off_t trace_bytes = 0;
};

namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kHeartbeatInterval{100};
constexpr int kControlFd = 3;            // in the shepherd
constexpr int kShepherdStoreError = 74;  // its exit status when exit.json could not be written

// A shepherd that cannot be watched is not kept.
FileDescriptor open_pidfd(pid_t pid) {
  const auto fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd >= 0) return FileDescriptor(fd);
  const int error = errno;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  throw std::system_error(error, std::generic_category(), "pidfd_open");
}

void kill_process(pid_t pid, void*) { kill(pid, SIGKILL); }

// A killed shepherd takes its worker along, but nobody else. They are all of its session unless they left it.
void kill_orphans(pid_t shepherd) { visit_session(shepherd, kill_process, nullptr); }

bool trace_grew(WatchedAttempt& attempt) {
  struct stat status {};
  if (stat(attempt.trace_path.c_str(), &status) != 0 || status.st_size <= attempt.trace_bytes) return false;
  attempt.trace_bytes = status.st_size;
  return true;
}

}  // namespace

struct LocalLauncher::State {
  std::filesystem::path shepherd;
  std::int64_t log_cap_bytes = 0;
  AttemptHandle last_handle = 0;
  std::vector<WatchedAttempt> running;
  Steady::time_point next_heartbeat_check = Steady::now();

  LaunchEvent take_end(std::size_t index);
  void take_heartbeats(std::vector<LaunchEvent>& events);
};

LocalLauncher::LocalLauncher(std::filesystem::path shepherd, std::int64_t log_cap_bytes)
    : state_(std::make_unique<State>()) {
  state_->shepherd = std::filesystem::absolute(shepherd);
  state_->log_cap_bytes = log_cap_bytes;
}

// Closing the control pipes tells every shepherd that the runner is gone; each stops its tree and ends.
LocalLauncher::~LocalLauncher() = default;

AttemptHandle LocalLauncher::start(const LaunchRequest& request) {
  int control[2];
  if (pipe2(control, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  const FileDescriptor shepherds_end(control[0]);
  WatchedAttempt attempt;
  attempt.control = FileDescriptor(control[1]);
  SpawnRequest spawn;
  spawn.command = {state_->shepherd.string(),
                   std::to_string(kControlFd),
                   request.request.nonce,
                   std::to_string(request.request.rank),
                   request.folder.string(),
                   std::to_string(state_->log_cap_bytes),
                   std::to_string(request.grace.count())};
  spawn.command.insert(spawn.command.end(), request.command.begin(), request.command.end());
  spawn.environment = request.environment;
  spawn.descriptors = {{shepherds_end.get(), kControlFd}};
  attempt.shepherd = spawn_process(spawn);
  attempt.shepherd_fd = open_pidfd(attempt.shepherd);
  attempt.trace_path = (request.folder / "trace.jsonl").string();
  attempt.handle = ++state_->last_handle;
  state_->running.push_back(std::move(attempt));
  return state_->last_handle;
}

void LocalLauncher::stop(AttemptHandle handle, StopSignal signal) {
  for (const WatchedAttempt& attempt : state_->running) {
    if (attempt.handle != handle) continue;
    const char command = signal == StopSignal::terminate ? 'T' : 'K';
    // MSG_NOSIGNAL does not exist for pipes: a shepherd that has just ended must not end this process.
    sigset_t pipe_signal;
    sigset_t previous;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &previous);
    if (write(attempt.control.get(), &command, 1) < 0 && errno == EPIPE) {
      constexpr timespec kNow{0, 0};
      sigtimedwait(&pipe_signal, nullptr, &kNow);
    }
    pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  }
}

LaunchEvent LocalLauncher::State::take_end(std::size_t index) {
  const WatchedAttempt attempt = std::move(running[index]);
  running.erase(running.begin() + static_cast<std::ptrdiff_t>(index));
  int status = 0;
  while (waitpid(attempt.shepherd, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) kill_orphans(attempt.shepherd);
  LaunchEvent event{attempt.handle, LaunchEvent::Kind::ended, std::nullopt};
  if (WIFEXITED(status) && WEXITSTATUS(status) == kShepherdStoreError) event.cause = AttemptEnd::store;
  return event;
}

void LocalLauncher::State::take_heartbeats(std::vector<LaunchEvent>& events) {
  if (Steady::now() < next_heartbeat_check) return;
  next_heartbeat_check = Steady::now() + kHeartbeatInterval;
  for (WatchedAttempt& attempt : running) {
    if (trace_grew(attempt)) events.push_back({attempt.handle, LaunchEvent::Kind::heartbeat, std::nullopt});
  }
}

std::vector<LaunchEvent> LocalLauncher::wait(milliseconds timeout) {
  std::vector<pollfd> polled;
  for (const WatchedAttempt& attempt : state_->running) polled.push_back({attempt.shepherd_fd.get(), POLLIN, 0});
  const bool has_running = !polled.empty();
  const milliseconds slice = has_running ? std::min(timeout, kHeartbeatInterval) : timeout;
  poll(polled.data(), polled.size(), static_cast<int>(std::max<std::int64_t>(slice.count(), 0)));

  std::vector<LaunchEvent> events;
  state_->take_heartbeats(events);
  for (std::size_t i = polled.size(); i-- > 0;) {
    if (polled[i].revents != 0) events.push_back(state_->take_end(i));
  }
  return events;
}

}  // namespace reprobench

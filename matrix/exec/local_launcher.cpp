#include "matrix/exec/local_launcher.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/exec/process_spawn.hpp"
#include "matrix/exec/shepherd/process_tree.hpp"
#include "matrix/record/plain_file.hpp"

namespace reprobench {

struct WatchedRank {
  AttemptHandle handle = 0;
  int rank = 0;
  pid_t shepherd = -1;         // inside an image it is PID 1 of its own, and this the process that waits for it
  std::string mark;            // the variable that all of its processes inherit
  FileDescriptor shepherd_fd;  // pidfd: readable once the shepherd has ended
  FileDescriptor control;
  std::string trace_path;
  off_t trace_bytes = 0;
  std::int64_t memory_kills_before = 0;
};

namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kHeartbeatInterval{100};
constexpr milliseconds kOrphanPause{10};
constexpr int kMostOrphanRounds = 20;
constexpr const char* kMarkName = "REPROBENCH_ATTEMPT";
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

constexpr std::int64_t kMostEnvironmentBytes = std::int64_t{8} << 20;  // more than the kernel lets a program have

// A process that ends meanwhile, or is another user's, has no environment to be read.
bool is_marked(const std::filesystem::path& process, const std::string& mark) {
  const auto read = read_plain_file(process / "environ", kMostEnvironmentBytes);
  const auto* environment = std::get_if<std::string>(&read);
  return environment != nullptr && ('\0' + *environment).find('\0' + mark + '\0') != std::string::npos;
}

int kill_marked(const std::string& mark) {
  int killed = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::filesystem::path& process = entry->path();
    const pid_t pid = std::atoi(process.filename().c_str());
    if (pid > 0 && is_marked(process, mark) && kill(pid, SIGKILL) == 0) ++killed;
  }
  return killed;
}

// A killed shepherd takes its worker along, but nobody else. The others are of its session, and those that left it
// still carry the attempt's variable, unless they emptied their environment too. Who forks meanwhile is met again.
void kill_orphans(const WatchedRank& rank) {
  visit_session(rank.shepherd, kill_process, nullptr);
  for (int round = 0; round < kMostOrphanRounds && kill_marked(rank.mark) > 0; ++round) {
    std::this_thread::sleep_for(kOrphanPause);
  }
}

// 'T' of a process that a signal stopped, 't' of one that a debugger did; after the name, which may have anything in
// it.
bool is_stopped(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && (text[name_end + 2] == 'T' || text[name_end + 2] == 't');
}

void note_stopped(pid_t pid, void* found) { *static_cast<bool*>(found) |= is_stopped(pid); }

bool trace_grew(WatchedRank& rank) {
  struct stat status {};
  if (stat(rank.trace_path.c_str(), &status) != 0 || status.st_size <= rank.trace_bytes) return false;
  rank.trace_bytes = status.st_size;
  return true;
}

}  // namespace

struct LocalLauncher::State {
  std::filesystem::path shepherd;
  std::filesystem::path root;
  std::int64_t log_cap_bytes = 0;
  AttemptHandle last_handle = 0;
  std::vector<WatchedRank> running;
  std::vector<LaunchEvent> started;  // not yet told
  Steady::time_point next_heartbeat_check = Steady::now();

  WatchedRank spawn(const RankLaunch& launch, std::chrono::milliseconds grace, pid_t network_of);
  void discard(AttemptHandle handle);
  LaunchEvent take_end(std::size_t index);
  void take_heartbeats(std::vector<LaunchEvent>& events);
};

LocalLauncher::LocalLauncher(std::filesystem::path shepherd, std::int64_t log_cap_bytes, std::filesystem::path root)
    : state_(std::make_unique<State>()) {
  state_->shepherd = std::filesystem::absolute(shepherd);
  state_->root = std::move(root);
  state_->log_cap_bytes = log_cap_bytes;
}

// Closing the control pipes tells every shepherd that the runner is gone; each stops its tree and ends.
LocalLauncher::~LocalLauncher() = default;

WatchedRank LocalLauncher::State::spawn(const RankLaunch& launch, milliseconds grace, pid_t network_of) {
  int control[2];
  if (pipe2(control, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  const FileDescriptor shepherds_end(control[0]);
  WatchedRank rank;
  rank.control = FileDescriptor(control[1]);
  rank.rank = launch.request.rank;
  SpawnRequest spawn;
  spawn.command = {shepherd.string(),
                   std::to_string(kControlFd),
                   launch.request.nonce,
                   std::to_string(launch.request.rank),
                   launch.folder.string(),
                   std::to_string(log_cap_bytes),
                   std::to_string(grace.count())};
  spawn.command.insert(spawn.command.end(), launch.command.begin(), launch.command.end());
  if (launch.enclosure) {
    const EnclosedPaths paths = paths_of_rank(launch.request, launch.folder);
    spawn.command = enclosed_command(*launch.enclosure, paths, network_of, spawn.command);
  }
  rank.mark = std::string(kMarkName) + "=" + launch.request.nonce + "." + std::to_string(rank.rank);
  spawn.environment = launch.environment;
  (*spawn.environment)[kMarkName] = rank.mark.substr(std::string_view(kMarkName).size() + 1);
  spawn.descriptors = {{shepherds_end.get(), kControlFd}};
  rank.memory_kills_before = memory_kills(root).count;
  rank.shepherd = spawn_process(spawn);
  rank.shepherd_fd = open_pidfd(rank.shepherd);
  rank.trace_path = (launch.folder / "trace.jsonl").string();
  return rank;
}

// An attempt of which not every rank could be started: those that were end with it.
void LocalLauncher::State::discard(AttemptHandle handle) {
  for (const WatchedRank& rank : running) {
    if (rank.handle != handle) continue;
    kill(rank.shepherd, SIGKILL);
    waitpid(rank.shepherd, nullptr, 0);
    kill_orphans(rank);
  }
  std::erase_if(running, [&](const WatchedRank& rank) { return rank.handle == handle; });
  std::erase_if(started, [&](const LaunchEvent& event) { return event.handle == handle; });
}

AttemptHandle LocalLauncher::start(const LaunchRequest& request) {
  const AttemptHandle handle = ++state_->last_handle;
  try {
    pid_t network_of = 0;  // ranks meet: inside, those after the first join its network
    for (const RankLaunch& launch : request.ranks) {
      WatchedRank rank = state_->spawn(launch, request.grace, network_of);
      if (network_of == 0) network_of = rank.shepherd;
      rank.handle = handle;
      state_->started.push_back({handle, rank.rank, LaunchEvent::Kind::started});
      state_->running.push_back(std::move(rank));
    }
  } catch (const std::system_error&) {
    state_->discard(handle);
    throw;
  }
  return handle;
}

void LocalLauncher::stop(AttemptHandle handle, StopSignal signal) {
  for (const WatchedRank& rank : state_->running) {
    if (rank.handle != handle) continue;
    // One that somebody stopped does not read what is sent. It is woken to do its work, and if it was stopped again
    // since, it dies, and its worker with it.
    if (is_stopped(rank.shepherd)) kill(rank.shepherd, signal == StopSignal::terminate ? SIGCONT : SIGKILL);
    const char command = signal == StopSignal::terminate ? 'T' : 'K';
    // MSG_NOSIGNAL does not exist for pipes: a shepherd that has just ended must not end this process.
    sigset_t pipe_signal;
    sigset_t previous;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &previous);
    if (write(rank.control.get(), &command, 1) < 0 && errno == EPIPE) {
      constexpr timespec kNow{0, 0};
      sigtimedwait(&pipe_signal, nullptr, &kNow);
    }
    pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  }
}

LaunchEvent LocalLauncher::State::take_end(std::size_t index) {
  const WatchedRank rank = std::move(running[index]);
  running.erase(running.begin() + static_cast<std::ptrdiff_t>(index));
  int status = 0;
  while (waitpid(rank.shepherd, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) kill_orphans(rank);
  LaunchEvent event{rank.handle, rank.rank, LaunchEvent::Kind::ended};
  event.memory_kills = memory_kills(root);
  event.memory_kills.count -= rank.memory_kills_before;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kShepherdStoreError) event.cause = AttemptEnd::store;
  return event;
}

std::vector<int> LocalLauncher::stopped_ranks(AttemptHandle handle) const {
  std::vector<int> ranks;
  for (const WatchedRank& rank : state_->running) {
    if (rank.handle != handle) continue;
    bool found = is_stopped(rank.shepherd);
    visit_descendants(rank.shepherd, note_stopped, &found);
    if (found) ranks.push_back(rank.rank);
  }
  std::ranges::sort(ranks);
  return ranks;
}

void LocalLauncher::State::take_heartbeats(std::vector<LaunchEvent>& events) {
  if (Steady::now() < next_heartbeat_check) return;
  next_heartbeat_check = Steady::now() + kHeartbeatInterval;
  for (WatchedRank& rank : running) {
    if (trace_grew(rank)) events.push_back({rank.handle, rank.rank, LaunchEvent::Kind::heartbeat});
  }
}

std::vector<LaunchEvent> LocalLauncher::wait(milliseconds timeout) {
  std::vector<pollfd> polled;
  for (const WatchedRank& rank : state_->running) polled.push_back({rank.shepherd_fd.get(), POLLIN, 0});
  milliseconds slice = polled.empty() ? timeout : std::min(timeout, kHeartbeatInterval);
  if (!state_->started.empty()) slice = milliseconds{0};
  poll(polled.data(), polled.size(), static_cast<int>(std::max<std::int64_t>(slice.count(), 0)));

  std::vector<LaunchEvent> events = std::exchange(state_->started, {});
  state_->take_heartbeats(events);
  for (std::size_t i = polled.size(); i-- > 0;) {
    if (polled[i].revents != 0) events.push_back(state_->take_end(i));
  }
  return events;
}

}  // namespace reprobench

// reprobench-shepherd: owns one worker's process tree, and reports how it ended.
//
//   reprobench-shepherd CONTROL_FD NONCE RANK FOLDER LOG_CAP_BYTES GRACE_MS COMMAND...
//
// Runs in FOLDER, with the worker's environment. CONTROL_FD is a pipe from the runner: byte `T` asks the tree to end,
// `K` kills it, and its end means that the runner died. As subreaper it becomes parent of whatever the worker leaves
// behind, so nothing escapes by setsid or a double fork. The last act is FOLDER/exit.json; without it the attempt
// counts as lost.
//
// FOLDER `-` is for a helper program that must not outlive its caller (a build, a download): nothing is written, the
// command's output goes on to the shepherd's own, and its exit code, or 128 + signal, becomes the shepherd's.
//
// It does not ask for a signal when its parent dies: that signal comes when the parent's *thread* ends, and the pipe
// says the same about the process. The worker does ask, so that it dies with a killed shepherd.
//
// Exit status: 0 with exit.json written, 64 for a wrong command line, 71 where not even a fork worked, 74 where
// exit.json could not be written.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "matrix/exec/shepherd/exit_writer.hpp"
#include "matrix/exec/shepherd/first_victim.hpp"
#include "matrix/exec/shepherd/log_keeper.hpp"
#include "matrix/exec/shepherd/process_tree.hpp"

extern char** environ;

namespace reprobench {
namespace {

constexpr int kUsage = 64;  // of sysexits.h: EX_USAGE, EX_OSERR, EX_IOERR
constexpr int kSystemError = 71;
constexpr int kStoreError = 74;

constexpr size_t kLargestLogCap = 4u << 20;
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSettle = 100 * kMillisecond;       // how long a worker's children may take to end after it
constexpr int64_t kKillInterval = 50 * kMillisecond;  // a tree that forks while it is killed is killed again
constexpr int kChunksPerTurn = 64;                    // more than a pipe holds, so the last turn gets the rest
constexpr int64_t kNever = INT64_MAX;

char g_stdout_tail[kLargestLogCap / 2];
char g_stderr_tail[kLargestLogCap / 2];

int64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}

int64_t to_ns(const timeval& time) { return time.tv_sec * 1'000'000'000ll + time.tv_usec * 1'000ll; }

struct Arguments {
  int control_fd;
  const char* nonce;
  int rank;
  size_t log_cap_bytes;
  int64_t grace_ns;
  bool relays;  // FOLDER is `-`
  char** command;
};

// One output of the worker: the pipe it writes to and the log that keeps it.
struct Stream {
  int pipe;
  LogKeeper keeper;

  // Takes what is there, but not for ever from a worker that writes as fast as this reads; closes the pipe at its end.
  void drain() {
    char buffer[64 << 10];
    for (int chunk = 0; pipe >= 0 && chunk < kChunksPerTurn; ++chunk) {
      const ssize_t count = read(pipe, buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return;
      if (count == 0) {
        close(pipe);
        pipe = -1;
        return;
      }
      keeper.take(buffer, static_cast<size_t>(count));
    }
  }
};

void send_signal(pid_t pid, void* signal) { kill(pid, *static_cast<int*>(signal)); }

void reset_signals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// In the child. Ends in the worker, or with errno in `error_pipe`.
[[noreturn]] void become_worker(char** command, pid_t shepherd, int out, int err, int error_pipe) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != shepherd) _exit(kSystemError);  // it died before the line above
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  become_first_victim();
  reset_signals();
  execve(command[0], command, environ);
  const int error = errno;
  const ssize_t written = write(error_pipe, &error, sizeof error);
  _exit(written == sizeof error ? 127 : 126);
}

class Shepherd {
 public:
  Shepherd(const Arguments& arguments, int signal_fd, int stdout_file, int stderr_file)
      : arguments_(arguments),
        signal_fd_(signal_fd),
        stdout_{-1, {stdout_file, arguments.log_cap_bytes, g_stdout_tail}},
        stderr_{-1, {stderr_file, arguments.log_cap_bytes, g_stderr_tail}} {
    account_.nonce = arguments.nonce;
    account_.rank = arguments.rank;
  }

  // True once the worker runs or its launch error is on record.
  bool launch();
  void watch();
  int report();

 private:
  bool tree_is_gone() const { return worker_ended_ && no_children_; }
  void handle_control();
  void handle_signals();
  void reap();
  void note_end(pid_t pid, int status, const rusage& usage);
  void ask_to_end();
  void kill_tree();
  void handle_timers();
  int poll_timeout_ms() const;

  Arguments arguments_;
  int signal_fd_;
  Stream stdout_;
  Stream stderr_;
  ExitAccount account_;
  char launch_error_[1024] = "";
  pid_t worker_ = -1;
  int64_t started_ns_ = 0;
  bool worker_ended_ = false;
  bool no_children_ = false;
  int64_t kill_at_ns_ = kNever;  // when the tree is killed (again)
  bool leaks_counted_ = false;
};

bool Shepherd::launch() {
  int out[2];
  int err[2];
  int error[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0 || pipe2(error, O_CLOEXEC) != 0) return false;
  const pid_t self = getpid();
  started_ns_ = monotonic_ns();
  worker_ = fork();
  if (worker_ < 0) return false;
  if (worker_ == 0) become_worker(arguments_.command, self, out[1], err[1], error[1]);
  setpgid(worker_, worker_);  // also here: whoever comes first, a stop finds the group
  close(out[1]);
  close(err[1]);
  close(error[1]);
  int exec_errno = 0;
  if (read(error[0], &exec_errno, sizeof exec_errno) == sizeof exec_errno) {
    snprintf(launch_error_, sizeof launch_error_, "cannot execute %s: %s", arguments_.command[0], strerror(exec_errno));
    account_.launch_error = launch_error_;
  }
  close(error[0]);
  stdout_.pipe = out[0];
  stderr_.pipe = err[0];
  fcntl(stdout_.pipe, F_SETFL, O_NONBLOCK);
  fcntl(stderr_.pipe, F_SETFL, O_NONBLOCK);
  return true;
}

void Shepherd::watch() {
  while (!tree_is_gone()) {
    pollfd polled[] = {{arguments_.control_fd, POLLIN, 0},
                       {signal_fd_, POLLIN, 0},
                       {stdout_.pipe, POLLIN, 0},
                       {stderr_.pipe, POLLIN, 0}};
    poll(polled, 4, poll_timeout_ms());
    stdout_.drain();
    stderr_.drain();
    if (polled[0].revents != 0) handle_control();
    if (polled[1].revents != 0) handle_signals();
    reap();
    handle_timers();
  }
}

void Shepherd::handle_control() {
  char command = 0;
  const ssize_t count = read(arguments_.control_fd, &command, 1);
  if (count < 0) return;
  if (count == 0) {
    close(arguments_.control_fd);
    arguments_.control_fd = -1;
    if (!worker_ended_) account_.stopped_by = "runner_death";
    ask_to_end();
    return;
  }
  if (!worker_ended_) account_.stopped_by = "runner";
  if (command == 'T') {
    ask_to_end();
  } else {
    kill_tree();
  }
}

// A TERM to the shepherd itself comes from a container engine or a batch system that ends the job.
void Shepherd::handle_signals() {
  signalfd_siginfo info;
  while (read(signal_fd_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD) continue;
    if (!worker_ended_) account_.stopped_by = "runner";
    ask_to_end();
  }
}

void Shepherd::reap() {
  for (;;) {
    int status = 0;
    rusage usage;
    const pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid > 0) {
      note_end(pid, status, usage);
    } else {
      no_children_ = pid < 0 && errno == ECHILD;
      return;
    }
  }
}

void Shepherd::note_end(pid_t pid, int status, const rusage& usage) {
  const int64_t rss = usage.ru_maxrss * int64_t{1024};
  if (rss > account_.max_rss_bytes) account_.max_rss_bytes = rss;
  account_.user_ns += to_ns(usage.ru_utime);
  account_.system_ns += to_ns(usage.ru_stime);
  if (pid != worker_) return;
  worker_ended_ = true;
  account_.duration_ns = monotonic_ns() - started_ns_;
  if (account_.launch_error[0] == '\0') {
    if (WIFEXITED(status)) account_.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) account_.signal = WTERMSIG(status);
  }
  // The kernel has already handed the worker's children to this process; give them a moment to end by themselves.
  const int64_t settled = monotonic_ns() + kSettle;
  if (settled < kill_at_ns_) kill_at_ns_ = settled;
}

// Everybody once, and a CONT so that a stopped process sees it.
void Shepherd::ask_to_end() {
  int terminate = SIGTERM;
  int wake = SIGCONT;
  if (visit_descendants(getpid(), send_signal, &terminate) == 0 && !worker_ended_) kill(-worker_, SIGTERM);
  visit_descendants(getpid(), send_signal, &wake);
  const int64_t deadline = monotonic_ns() + arguments_.grace_ns;
  if (arguments_.control_fd < 0 && deadline < kill_at_ns_) kill_at_ns_ = deadline;  // no runner is left to send `K`
}

void Shepherd::kill_tree() {
  if (!worker_ended_) kill(-worker_, SIGKILL);  // before it is reaped its id cannot be anybody else's
  int signal = SIGKILL;
  const int living = visit_descendants(getpid(), send_signal, &signal);
  if (worker_ended_ && !leaks_counted_) {
    account_.leaked_processes = living;
    leaks_counted_ = true;
  }
  kill_at_ns_ = monotonic_ns() + kKillInterval;
}

void Shepherd::handle_timers() {
  if (!tree_is_gone() && monotonic_ns() >= kill_at_ns_) kill_tree();
}

int Shepherd::poll_timeout_ms() const {
  if (kill_at_ns_ == kNever) return -1;
  const int64_t left = kill_at_ns_ - monotonic_ns();
  return left <= 0 ? 0 : static_cast<int>(left / kMillisecond + 1);
}

int Shepherd::report() {
  stdout_.drain();
  stderr_.drain();
  stdout_.keeper.finish();
  stderr_.keeper.finish();
  if (arguments_.relays) {
    if (account_.launch_error[0] != '\0') fprintf(stderr, "%s\n", account_.launch_error);
    return account_.exit_code >= 0 ? account_.exit_code : account_.signal > 0 ? 128 + account_.signal : 127;
  }
  account_.stdout_bytes = stdout_.keeper.total_bytes();
  account_.stderr_bytes = stderr_.keeper.total_bytes();
  return write_exit_account(account_) == 0 ? 0 : kStoreError;
}

int open_log(const char* name) { return open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600); }

int block_signals() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  sigset_t handled;
  sigemptyset(&handled);
  constexpr int kHandled[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  for (const int number : kHandled) sigaddset(&handled, number);
  sigprocmask(SIG_BLOCK, &handled, nullptr);
  return signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
}

int run(const Arguments& arguments, const char* folder) {
  if (!arguments.relays && chdir(folder) != 0) return kStoreError;
  setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  fcntl(arguments.control_fd, F_SETFD, FD_CLOEXEC);
  const int signal_fd = block_signals();
  const int stdout_file = arguments.relays ? STDOUT_FILENO : open_log("stdout.log");
  const int stderr_file = arguments.relays ? STDERR_FILENO : open_log("stderr.log");
  if (stdout_file < 0 || stderr_file < 0) return kStoreError;
  Shepherd shepherd(arguments, signal_fd, stdout_file, stderr_file);
  if (signal_fd < 0 || !shepherd.launch()) return kSystemError;
  shepherd.watch();
  return shepherd.report();
}

}  // namespace
}  // namespace reprobench

int main(int argc, char** argv) {
  constexpr int kFixedArguments = 7;
  if (argc <= kFixedArguments) {
    fprintf(stderr, "usage: reprobench-shepherd CONTROL_FD NONCE RANK FOLDER LOG_CAP_BYTES GRACE_MS COMMAND...\n");
    return reprobench::kUsage;
  }
  const size_t cap = strtoul(argv[5], nullptr, 10);
  const bool relays = strcmp(argv[4], "-") == 0;
  const reprobench::Arguments arguments = {atoi(argv[1]),
                                           argv[2],
                                           atoi(argv[3]),
                                           relays                                        ? SIZE_MAX
                                           : cap < 2 || cap > reprobench::kLargestLogCap ? reprobench::kLargestLogCap
                                                                                         : cap,
                                           strtol(argv[6], nullptr, 10) * reprobench::kMillisecond,
                                           relays,
                                           argv + kFixedArguments};
  return reprobench::run(arguments, argv[4]);
}

#include "matrix/exec/process_spawn.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <time.h>

extern char** environ;

namespace reprobench {
namespace {

constexpr int kTries = 6;
constexpr long kFirstPause_ns = 10'000'000;

class FileActions {
 public:
  explicit FileActions(const SpawnRequest& request) {
    posix_spawn_file_actions_init(&actions_);
    for (int fd = 0; fd <= 2; ++fd) posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", O_RDWR, 0);
    int highest = 2;
    for (const auto& [ours, theirs] : request.descriptors) {
      posix_spawn_file_actions_adddup2(&actions_, ours, theirs);
      highest = std::max(highest, theirs);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions_, highest + 1);
    if (!request.working_directory.empty()) {
      posix_spawn_file_actions_addchdir_np(&actions_, request.working_directory.c_str());
    }
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

class Attributes {
 public:
  explicit Attributes(bool own_group) {
    posix_spawnattr_init(&attributes_);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    const int group = own_group ? POSIX_SPAWN_SETPGROUP : 0;
    posix_spawnattr_setflags(&attributes_, static_cast<short>(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | group));
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

std::vector<char*> null_terminated(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

pid_t spawn_process(const SpawnRequest& request) {
  const FileActions actions(request);
  const Attributes attributes(request.own_group);
  std::vector<std::string> command = request.command;
  std::vector<std::string> variables;
  if (request.environment) {
    for (const auto& [name, value] : *request.environment) variables.push_back(name + "=" + value);
  }
  const std::vector<char*> arguments = null_terminated(command);
  const std::vector<char*> chosen_environment = null_terminated(variables);
  char* const* environment = request.environment ? chosen_environment.data() : environ;

  timespec pause{0, kFirstPause_ns};
  for (int attempt = 1;; ++attempt) {
    pid_t pid = -1;
    const int error = posix_spawn(&pid, arguments[0], actions.get(), attributes.get(), arguments.data(), environment);
    if (error == 0) return pid;
    if ((error != EAGAIN && error != ENOMEM) || attempt == kTries) {
      throw std::system_error(error, std::generic_category(), "cannot start " + request.command[0]);
    }
    nanosleep(&pause, nullptr);
    pause.tv_nsec *= 2;
  }
}

}  // namespace reprobench

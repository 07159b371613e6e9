// reprobench-enclosure: runs a command inside the unpacked root of an image, on this host and without an engine.
//
//   reprobench-enclosure [--root ROOT] [--read PATH]... [--write PATH]... [--device PATH]... [--driver LIBRARY]...
//                        [--network-of PID] [--shm BYTES] [--file-bytes BYTES] -- COMMAND...
//
// COMMAND is PID 1 of a PID namespace: its end ends everything inside. `/` is the image, read-only, with a /proc, /dev,
// /tmp of its own and of the host only the PATHs, at the same places. Without --root there is no image, so that the
// PATHs are all that the command sees. There is no network but the loopback, which ranks of one attempt share
// (`--network-of`: a process of this program that is the first of them), and no capability. No file grows beyond
// --file-bytes. Descriptors and variables go through. As root no user namespace is needed; others get one.
//
// For a GPU there are its nodes below /dev, with all of /sys, and the driver's libraries, in kDriverPlace (spine.hpp).
//
// Exit status: the command's; 64 for a wrong command line, 71 with one line on stderr where the enclosure could not be
// made. A command that a signal ended ends this program by the same.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "matrix/exec/enclosure/mounts.hpp"
#include "matrix/exec/enclosure/namespaces.hpp"
#include "matrix/exec/shepherd/first_victim.hpp"

extern char** environ;

namespace reprobench {
namespace {

constexpr int kUsage = 64;  // of sysexits.h: EX_USAGE, EX_OSERR
constexpr int kSystemError = 71;
constexpr const char* kAnyFolder = "/usr";  // of the host: where the new root is mounted for a moment

struct Enclosing {
  std::string root;  // empty: no image
  std::vector<HostPath> of_host;
  pid_t network_of = 0;
  NewPlaces places;
  rlim_t file_bytes = RLIM_INFINITY;
  char** command = nullptr;
};

[[noreturn]] void end_with(const std::string& problem) {
  fprintf(stderr, "reprobench-enclosure: %s\n", problem.c_str());
  _exit(kSystemError);
}

std::string add_path(Enclosing& enclosing, const char* path, bool is_writable) {
  struct stat status {};
  if (stat(path, &status) != 0) return failed(path);
  enclosing.of_host.push_back({path, S_ISDIR(status.st_mode), is_writable});
  return "";
}

std::string add_device(Enclosing& enclosing, const std::string& path) {
  if (!path.starts_with("/dev/") || path.find("/..") != std::string::npos) return path + " does not lie in /dev";
  enclosing.places.devices.push_back(path);
  return "";
}

// Under its name on this host, whatever file a link of that name leads to.
void add_driver_library(Enclosing& enclosing, const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  enclosing.of_host.push_back({std::string(kDriverPlace) + "/" + name, false, false, path});
}

bool read_arguments(int argc, char** argv, Enclosing& enclosing) {
  enum Name { root = 'r', read, write, device, driver, network_of, shm, file_bytes };
  constexpr option kOptions[] = {{"root", required_argument, nullptr, root},
                                 {"read", required_argument, nullptr, read},
                                 {"write", required_argument, nullptr, write},
                                 {"device", required_argument, nullptr, device},
                                 {"driver", required_argument, nullptr, driver},
                                 {"network-of", required_argument, nullptr, network_of},
                                 {"shm", required_argument, nullptr, shm},
                                 {"file-bytes", required_argument, nullptr, file_bytes},
                                 {nullptr, 0, nullptr, 0}};
  for (int name = 0; (name = getopt_long(argc, argv, "+", kOptions, nullptr)) != -1;) {
    std::string problem;
    char* real = nullptr;
    switch (name) {
      case root:
        real = realpath(optarg, nullptr);
        if (real == nullptr) end_with(failed(optarg));
        enclosing.root = real;
        free(real);
        break;
      case read:
      case write:
        problem = add_path(enclosing, optarg, name == write);
        break;
      case device:
        problem = add_device(enclosing, optarg);
        break;
      case driver:
        add_driver_library(enclosing, optarg);
        break;
      case network_of:
        enclosing.network_of = atoi(optarg);
        break;
      case shm:
        enclosing.places.shared_memory_bytes = strtoll(optarg, nullptr, 10);
        break;
      case file_bytes:
        enclosing.file_bytes = strtoull(optarg, nullptr, 10);
        break;
      default:
        return false;
    }
    if (!problem.empty()) end_with(problem);
  }
  enclosing.command = argv + optind;
  return enclosing.root != "/" && *enclosing.command != nullptr;
}

// `parent_fd` ends with the process outside, whose end this one must not outlive.
[[noreturn]] void become_command(const Enclosing& enclosing, const Spine& spine, int parent_fd) {
  become_first_victim();  // inside, /proc cannot be written
  const std::string root = enclosing.root.empty() ? kAnyFolder : enclosing.root;
  std::string problem = enter_spine(root, spine, enclosing.places);
  if (problem.empty()) problem = give_up_privileges();
  if (!problem.empty()) end_with(problem);
  const rlimit largest_file{enclosing.file_bytes, enclosing.file_bytes};
  if (enclosing.file_bytes != RLIM_INFINITY && setrlimit(RLIMIT_FSIZE, &largest_file) != 0) {
    end_with(failed("limit the size of files"));
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd parent{parent_fd, POLLIN, 0};
  if (poll(&parent, 1, 0) != 0) _exit(kSystemError);
  execve(enclosing.command[0], enclosing.command, environ);
  end_with(failed(std::string("cannot execute ") + enclosing.command[0]));
}

// As it ended: whoever waits for this process learns of a signal too.
int wait_for(pid_t inside) {
  int status = 0;
  while (waitpid(inside, &status, 0) < 0) {
    if (errno != EINTR) return kSystemError;
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(WTERMSIG(status), SIG_DFL);
  raise(WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

int enclose(const Enclosing& enclosing) {
  setsid();  // not where it leads a group already
  const auto entries_of = [&](const std::string& folder) {
    return enclosing.root.empty() ? std::vector<SpineEntry>() : entries_of_folder(enclosing.root, folder);
  };
  const Spine spine = plan_spine(entries_of, enclosing.of_host);
  if (!spine.problem.empty()) end_with(spine.problem);
  if (const std::string problem = leave_namespaces(enclosing.network_of); !problem.empty()) end_with(problem);
  int alive[2];
  if (pipe2(alive, O_CLOEXEC) != 0) end_with(failed("pipe"));
  const pid_t inside = fork();
  if (inside < 0) end_with(failed("fork"));
  if (inside == 0) {
    close(alive[1]);
    become_command(enclosing, spine, alive[0]);
  }
  // Only the command holds what was handed down, so that its end is seen by those who hold the other ends.
  close_range(3, static_cast<unsigned>(alive[1]) - 1, 0);
  close_range(static_cast<unsigned>(alive[1]) + 1, ~0u, 0);
  return wait_for(inside);
}

}  // namespace
}  // namespace reprobench

int main(int argc, char** argv) {
  reprobench::Enclosing enclosing;
  if (!reprobench::read_arguments(argc, argv, enclosing)) {
    fprintf(stderr,
            "usage: reprobench-enclosure [--root ROOT] [--read PATH]... [--write PATH]... [--device PATH]... "
            "[--driver LIBRARY]... [--network-of PID] [--shm BYTES] [--file-bytes BYTES] -- COMMAND...\n");
    return reprobench::kUsage;
  }
  return reprobench::enclose(enclosing);
}

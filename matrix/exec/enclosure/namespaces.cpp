#include "matrix/exec/enclosure/namespaces.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace reprobench {
namespace {

constexpr int kMostCapabilities = 64;
constexpr rlim_t kProcessLimit = 16'384;  // threads count
constexpr int kNetworkTries = 10'000;
constexpr long kNetworkPause_ns = 1'000'000;

std::string write_text(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return failed(std::string("open ") + path);
  const ssize_t written = write(fd, text.data(), text.size());
  const std::string problem = written == static_cast<ssize_t>(text.size()) ? "" : failed(std::string("write ") + path);
  close(fd);
  return problem;
}

bool may_mount() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  return (data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN)) != 0;
}

// Files that are made inside belong to the same user outside.
std::string leave_users() {
  const std::string user = std::to_string(geteuid());
  const std::string group = std::to_string(getegid());
  if (unshare(CLONE_NEWUSER) != 0) {
    return failed("a user namespace") +
           " (this kernel or container forbids it: run as root, or where user namespaces are allowed)";
  }
  std::string problem = write_text("/proc/self/setgroups", "deny");
  if (problem.empty()) problem = write_text("/proc/self/uid_map", user + " " + user + " 1");
  if (problem.empty()) problem = write_text("/proc/self/gid_map", group + " " + group + " 1");
  return problem;
}

// Inode of a namespace, 0 if it cannot be seen.
ino_t namespace_of(const std::string& process, const char* kind) {
  struct stat status {};
  return stat(("/proc/" + process + "/ns/" + kind).c_str(), &status) == 0 ? status.st_ino : 0;
}

std::string join(pid_t process, const char* kind, int type) {
  const std::string path = "/proc/" + std::to_string(process) + "/ns/" + kind;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed("open " + path);
  const std::string problem = setns(fd, type) == 0 ? "" : failed("join " + path);
  close(fd);
  return problem;
}

std::string join_network(pid_t process, bool with_users) {
  const std::string name = std::to_string(process);
  const ino_t ours = namespace_of("self", "net");
  for (int i = 0; i < kNetworkTries; ++i) {
    const ino_t theirs = namespace_of(name, "net");
    if (theirs == 0 || (theirs != ours && namespace_of(name, "mnt") != namespace_of("self", "mnt"))) break;
    constexpr timespec kPause{0, kNetworkPause_ns};
    nanosleep(&kPause, nullptr);
  }
  if (namespace_of(name, "net") == ours) return "process " + name + " has no network of its own";
  if (with_users) {
    if (std::string problem = join(process, "user", CLONE_NEWUSER); !problem.empty()) return problem;
  }
  return join(process, "net", CLONE_NEWNET);
}

// Ranks on one machine meet over the loopback.
std::string raise_loopback() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed("socket");
  ifreq request{};
  strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const std::string problem = ioctl(fd, SIOCSIFFLAGS, &request) == 0 ? "" : failed("the loopback");
  close(fd);
  return problem;
}

}  // namespace

std::string failed(const std::string& what) { return what + ": " + strerror(errno); }

std::string leave_namespaces(pid_t network_of) {
  const bool with_users = !may_mount();
  std::string problem;
  if (network_of != 0) {
    problem = join_network(network_of, with_users);
  } else {
    if (with_users) problem = leave_users();
    if (problem.empty() && unshare(CLONE_NEWNET) != 0) problem = failed("a network namespace");
    if (problem.empty()) problem = raise_loopback();
  }
  if (!problem.empty()) return problem;
  if (unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID) != 0) {
    return failed("mount, IPC, host name and PID namespaces");
  }
  // A name that every C library knows without asking anybody.
  return sethostname("localhost", strlen("localhost")) == 0 ? "" : failed("sethostname");
}

std::string give_up_privileges() {
  rlimit processes{};
  getrlimit(RLIMIT_NPROC, &processes);
  if (processes.rlim_max > kProcessLimit) processes.rlim_max = kProcessLimit;
  if (processes.rlim_cur > kProcessLimit) processes.rlim_cur = kProcessLimit;
  if (setrlimit(RLIMIT_NPROC, &processes) != 0) return failed("setrlimit");

  constexpr unsigned long kForRoot = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |
                                     SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                                     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  if (prctl(PR_SET_SECUREBITS, kForRoot) != 0) return failed("securebits");
  for (int capability = 0; capability < kMostCapabilities; ++capability) {
    if (prctl(PR_CAPBSET_DROP, capability) != 0 && errno != EINVAL) return failed("drop a capability");
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  if (syscall(SYS_capset, &header, none) != 0) return failed("give up capabilities");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("no_new_privs");
  return "";
}

}  // namespace reprobench

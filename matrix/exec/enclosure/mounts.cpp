#include "matrix/exec/enclosure/mounts.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "matrix/exec/enclosure/namespaces.hpp"

namespace reprobench {
namespace {

constexpr unsigned long kQuiet = MS_NOSUID | MS_NODEV;

std::string real_path(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) == nullptr ? "" : resolved;
}

std::string mount_new(const char* kind, const std::string& path, unsigned long flags, const std::string& options) {
  return mount(kind, path.c_str(), kind, flags, options.c_str()) == 0 ? "" : failed("mount " + path);
}

// For a mount and those below it.
std::string restrict(const std::string& path, std::uint64_t attributes, unsigned flags) {
  mount_attr attr{};
  attr.attr_set = attributes;
  if (mount_setattr(AT_FDCWD, path.c_str(), flags | AT_SYMLINK_NOFOLLOW, &attr, sizeof attr) == 0) return "";
  return failed("restrict the mount " + path);
}

std::string make_folder(const std::string& path, mode_t mode = 0755) {
  return mkdir(path.c_str(), mode) == 0 || errno == EEXIST ? "" : failed("make " + path);
}

std::string make_mount_point(const std::string& path, bool is_folder) {
  if (is_folder) return make_folder(path);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return failed("make " + path);
  close(fd);
  return "";
}

// With what is mounted below it: a kernel that shows a part of a tree hides no other part of it.
std::string bind_at(const std::string& from, const std::string& path, bool is_writable) {
  if (mount(from.c_str(), path.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
    return failed("bind " + from.substr(from.starts_with(kHostPlace) ? strlen(kHostPlace) : 0));
  }
  const std::uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (is_writable ? 0 : MOUNT_ATTR_RDONLY);
  return restrict(path, attributes, AT_RECURSIVE);
}

// A mount point below /dev, with the folders that lead to it.
std::string make_device_point(const std::string& path, bool is_folder) {
  for (std::size_t end = path.find('/', strlen("/dev/")); end != std::string::npos; end = path.find('/', end + 1)) {
    if (std::string problem = make_folder(path.substr(0, end)); !problem.empty()) return problem;
  }
  return make_mount_point(path, is_folder);
}

// A node of the host's /dev, or a folder of nodes.
std::string bind_device(const std::string& path) {
  const std::string from = kHostPlace + path;
  struct stat status {};
  if (stat(from.c_str(), &status) != 0) return failed(path);
  std::string problem = make_device_point(path, S_ISDIR(status.st_mode));
  if (!problem.empty()) return problem;
  if (mount(from.c_str(), path.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) return failed("bind " + path);
  return restrict(path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, AT_RECURSIVE);
}

std::string make_devices(const NewPlaces& places) {
  std::string problem = mount_new("tmpfs", "/dev", MS_NOSUID | MS_NOEXEC, "mode=755,size=64k");
  for (const char* name : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
    if (problem.empty()) problem = bind_device(name);
  }
  for (const std::string& device : places.devices) {
    if (problem.empty()) problem = bind_device(device);
  }
  if (problem.empty()) problem = make_folder("/dev/shm", 01777);
  if (!problem.empty()) return problem;
  constexpr const char* kLinks[][2] = {{"/proc/self/fd", "/dev/fd"},
                                       {"/proc/self/fd/0", "/dev/stdin"},
                                       {"/proc/self/fd/1", "/dev/stdout"},
                                       {"/proc/self/fd/2", "/dev/stderr"}};
  for (const auto& [target, path] : kLinks) {
    if (symlink(target, path) != 0) return failed(std::string("make ") + path);
  }
  const std::string options = "mode=1777,size=" + std::to_string(places.shared_memory_bytes);
  problem = mount_new("tmpfs", "/dev/shm", kQuiet | MS_NOEXEC, options);
  return problem.empty() ? restrict("/dev", MOUNT_ATTR_RDONLY, 0) : problem;
}

// The part of the host's /sys that describes processors and memory, because programs read it to choose how to compute.
std::string make_sys(const NewPlaces& places) {
  if (!places.devices.empty()) return bind_at(std::string(kHostPlace) + "/sys", "/sys", false);
  const std::string folder = "/sys/devices/system";
  std::string problem = mount_new("tmpfs", "/sys", kQuiet | MS_NOEXEC, "mode=755,size=64k");
  const std::string from = kHostPlace + folder;
  if (!problem.empty() || access(from.c_str(), R_OK) != 0) return problem;
  problem = make_folder("/sys/devices");
  if (problem.empty()) problem = make_folder(folder);
  if (problem.empty()) problem = bind_at(from, folder, false);
  return problem.empty() ? restrict("/sys", MOUNT_ATTR_RDONLY, 0) : problem;
}

// The user `root` may write to much of /proc without any capability, so none of it can be written to.
std::string make_proc() {
  const std::string problem = mount_new("proc", "/proc", kQuiet | MS_NOEXEC, "");
  return problem.empty() ? restrict("/proc", MOUNT_ATTR_RDONLY, 0) : problem;
}

std::string make_new_place(const std::string& path, const NewPlaces& places) {
  if (path == "/dev") return make_devices(places);
  if (path == "/proc") return make_proc();
  if (path == "/sys") return make_sys(places);
  return mount_new("tmpfs", path, kQuiet, "mode=1777,size=" + std::to_string(places.shared_memory_bytes));
}

// `host`: where a path of this host lies, links followed while it was the root.
std::string take(const SpineStep& step, const std::string& root, const std::string& host, const NewPlaces& places) {
  switch (step.act) {
    case SpineAct::mount_new:
      return make_new_place(step.path, places);
    case SpineAct::make_folder:
      return make_folder(step.path);
    case SpineAct::make_link:
      return symlink(step.link.c_str(), step.path.c_str()) == 0 ? "" : failed("make " + step.path);
    case SpineAct::bind_of_root:
    case SpineAct::bind_of_host:
      break;
  }
  const bool is_of_root = step.act == SpineAct::bind_of_root;
  std::string problem = step.has_mount_point ? "" : make_mount_point(step.path, step.is_folder);
  if (!problem.empty()) return problem;
  return bind_at(kHostPlace + (is_of_root ? root + step.path : host), step.path, step.is_writable);
}

}  // namespace

std::vector<SpineEntry> entries_of_folder(const std::string& root, const std::string& folder) {
  std::vector<SpineEntry> entries;
  DIR* opened = opendir((root + folder).c_str());
  if (opened == nullptr) return entries;
  while (const dirent* entry = readdir(opened)) {
    const std::string name = entry->d_name;
    struct stat status {};
    if (name == "." || name == ".." || fstatat(dirfd(opened), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    SpineEntry found{name, SpineKind::other, ""};
    if (S_ISDIR(status.st_mode)) found.kind = SpineKind::folder;
    if (S_ISREG(status.st_mode)) found.kind = SpineKind::file;
    if (S_ISLNK(status.st_mode)) {
      char target[PATH_MAX];
      const ssize_t length = readlinkat(dirfd(opened), name.c_str(), target, sizeof target);
      if (length <= 0) continue;
      found.kind = SpineKind::link;
      found.link.assign(target, static_cast<std::size_t>(length));
    }
    entries.push_back(std::move(found));
  }
  closedir(opened);
  return entries;
}

std::string enter_spine(const std::string& root, const Spine& spine, const NewPlaces& places) {
  std::vector<std::string> real;  // of each step that binds a path of the host
  for (const SpineStep& step : spine.steps) {
    const std::string& of_host = step.of_host.empty() ? step.path : step.of_host;
    real.push_back(step.act == SpineAct::bind_of_host ? real_path(of_host) : "");
    if (step.act == SpineAct::bind_of_host && real.back().empty()) return failed(of_host);
  }
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return failed("keep mounts to this process");
  // The new root needs a place for a moment only, and the image's folder is there for certain.
  std::string problem = mount_new("tmpfs", root, kQuiet, "mode=755,size=16m");
  if (problem.empty()) problem = make_folder(root + kHostPlace);
  if (!problem.empty()) return problem;
  if (syscall(SYS_pivot_root, root.c_str(), (root + kHostPlace).c_str()) != 0) return failed("pivot_root");
  if (chdir("/") != 0) return failed("chdir");
  umask(0);
  for (std::size_t i = 0; i < spine.steps.size(); ++i) {
    problem = take(spine.steps[i], root, real[i], places);
    if (!problem.empty()) return problem;
  }
  umask(022);
  if (umount2(kHostPlace, MNT_DETACH) != 0) return failed("let go of the host");
  if (rmdir(kHostPlace) != 0) return failed("let go of the host's place");
  return restrict("/", MOUNT_ATTR_RDONLY, 0);
}

}  // namespace reprobench

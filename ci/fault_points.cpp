// A library to preload: the n-th call on a file below one folder fails. ci/fault_sweep.sh builds it and moves n.
//
//   FAULT_BELOW   the folder, absolute; calls on other files are not counted
//   FAULT_COUNT   a file of 8 bytes that exists; calls are counted in it, so a killed process tells too
//   FAULT_AT      which call fails, from 1; 0 or more than there are: none
//   FAULT_ERROR   EIO, or ENOSPC: then only calls that ask for room are counted
//   FAULT_LASTS   "once", or "on": every later call fails too, as on a disk that is gone
//   FAULT_NAMES   a file to which the name of the call that failed first is appended
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

struct Plan {
  const char* below = nullptr;
  std::size_t below_bytes = 0;
  const char* names = nullptr;
  std::uint64_t at = 0;
  int error = EIO;
  bool lasts = false;
  pid_t owner = 0;
  std::atomic<std::uint64_t>* count = nullptr;
};

Plan read_plan() {
  Plan plan;
  const char* count = getenv("FAULT_COUNT");
  plan.below = getenv("FAULT_BELOW");
  if (plan.below == nullptr || count == nullptr) return plan;
  plan.below_bytes = strlen(plan.below);
  plan.names = getenv("FAULT_NAMES");
  if (const char* at = getenv("FAULT_AT")) plan.at = strtoull(at, nullptr, 10);
  if (const char* error = getenv("FAULT_ERROR")) plan.error = strcmp(error, "ENOSPC") == 0 ? ENOSPC : EIO;
  if (const char* lasts = getenv("FAULT_LASTS")) plan.lasts = strcmp(lasts, "on") == 0;
  plan.owner = getpid();  // a child that was forked and has not become another program yet is not ours
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, count, O_RDWR));
  void* page = fd < 0 ? MAP_FAILED : mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) abort();
  syscall(SYS_close, fd);
  plan.count = static_cast<std::atomic<std::uint64_t>*>(page);
  return plan;
}

const Plan& plan() {
  static const Plan read = read_plan();
  return read;
}

bool is_below(const char* path) { return path != nullptr && strncmp(path, plan().below, plan().below_bytes) == 0; }

void note(const char* call, const char* path) {
  char line[PATH_MAX + 64];
  const int length = snprintf(line, sizeof line, "%s %s\n", call, path);
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, plan().names, O_WRONLY | O_CREAT | O_APPEND, 0600));
  if (fd < 0) return;
  syscall(SYS_write, fd, line, length);
  syscall(SYS_close, fd);
}

// True if this call is to fail; errno is set then.
bool fails(const char* call, const char* path, bool asks_for_room) {
  if (plan().count == nullptr || getpid() != plan().owner || !is_below(path)) return false;
  if (plan().error == ENOSPC && !asks_for_room) return false;
  const std::uint64_t number = plan().count->fetch_add(1) + 1;
  if (plan().at == 0 || number < plan().at || (number > plan().at && !plan().lasts)) return false;
  if (number == plan().at && plan().names != nullptr) note(call, path);
  errno = plan().error;
  return true;
}

bool fails(const char* call, int fd, bool asks_for_room) {
  if (plan().count == nullptr) return false;
  char link[64];
  char path[PATH_MAX + 1];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX);
  if (length <= 0) return false;
  path[length] = '\0';
  return fails(call, path, asks_for_room);
}

// The function of this name that would have been called without us.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int open_next(const char* name, const char* path, int flags, mode_t mode) {
  static auto* const real = next<int(const char*, int, ...)>("open");
  if (fails(name, path, (flags & O_CREAT) != 0)) return -1;
  return real(path, flags, mode);
}

int openat_next(int folder, const char* path, int flags, mode_t mode) {
  static auto* const real = next<int(int, const char*, int, ...)>("openat");
  const bool asks = (flags & O_CREAT) != 0;
  if (path[0] == '/' ? fails("openat", path, asks) : fails("openat", folder, asks)) return -1;
  return real(folder, path, flags, mode);
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

// Functions of the C library by their own names, with and without 64.
#define FAULT_OF_FILE(name, asks, result, parameters, arguments)   \
  extern "C" result name parameters {                              \
    static auto* const real = next<result parameters>(#name);      \
    return fails(#name, file, asks) ? result(-1) : real arguments; \
  }

extern "C" int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_next("open", path, flags, mode);
}

extern "C" int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_next("open64", path, flags, mode);
}

extern "C" int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return openat_next(folder, path, flags, mode);
}

extern "C" int openat64(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return openat_next(folder, path, flags, mode);
}

extern "C" FILE* fopen(const char* file, const char* mode) {
  static auto* const real = next<FILE*(const char*, const char*)>("fopen");
  return fails("fopen", file, mode[0] != 'r') ? nullptr : real(file, mode);
}

extern "C" FILE* fopen64(const char* file, const char* mode) {
  static auto* const real = next<FILE*(const char*, const char*)>("fopen64");
  return fails("fopen64", file, mode[0] != 'r') ? nullptr : real(file, mode);
}

extern "C" DIR* opendir(const char* file) {
  static auto* const real = next<DIR*(const char*)>("opendir");
  return fails("opendir", file, false) ? nullptr : real(file);
}

extern "C" dirent* readdir(DIR* folder) {
  static auto* const real = next<dirent*(DIR*)>("readdir");
  return fails("readdir", dirfd(folder), false) ? nullptr : real(folder);
}

extern "C" dirent64* readdir64(DIR* folder) {
  static auto* const real = next<dirent64*(DIR*)>("readdir64");
  return fails("readdir64", dirfd(folder), false) ? nullptr : real(folder);
}

FAULT_OF_FILE(read, false, ssize_t, (int file, void* buffer, size_t bytes), (file, buffer, bytes))
FAULT_OF_FILE(pread, false, ssize_t, (int file, void* buffer, size_t bytes, off_t at), (file, buffer, bytes, at))
FAULT_OF_FILE(pread64, false, ssize_t, (int file, void* buffer, size_t bytes, off64_t at), (file, buffer, bytes, at))
FAULT_OF_FILE(write, true, ssize_t, (int file, const void* buffer, size_t bytes), (file, buffer, bytes))
FAULT_OF_FILE(pwrite, true, ssize_t, (int file, const void* buffer, size_t bytes, off_t at), (file, buffer, bytes, at))
FAULT_OF_FILE(pwrite64, true, ssize_t, (int file, const void* buffer, size_t bytes, off64_t at),
              (file, buffer, bytes, at))
FAULT_OF_FILE(sendfile, true, ssize_t, (int file, int from, off_t* at, size_t bytes), (file, from, at, bytes))
FAULT_OF_FILE(sendfile64, true, ssize_t, (int file, int from, off64_t* at, size_t bytes), (file, from, at, bytes))
FAULT_OF_FILE(fsync, true, int, (int file), (file))
FAULT_OF_FILE(fdatasync, true, int, (int file), (file))
FAULT_OF_FILE(syncfs, true, int, (int file), (file))
FAULT_OF_FILE(ftruncate, true, int, (int file, off_t bytes), (file, bytes))
FAULT_OF_FILE(ftruncate64, true, int, (int file, off64_t bytes), (file, bytes))
FAULT_OF_FILE(rename, true, int, (const char* file, const char* to), (file, to))
FAULT_OF_FILE(link, true, int, (const char* file, const char* to), (file, to))
FAULT_OF_FILE(unlink, false, int, (const char* file), (file))
FAULT_OF_FILE(mkdir, true, int, (const char* file, mode_t mode), (file, mode))
FAULT_OF_FILE(stat, false, int, (const char* file, struct stat* status), (file, status))
FAULT_OF_FILE(stat64, false, int, (const char* file, struct stat64* status), (file, status))
FAULT_OF_FILE(lstat, false, int, (const char* file, struct stat* status), (file, status))
FAULT_OF_FILE(lstat64, false, int, (const char* file, struct stat64* status), (file, status))
FAULT_OF_FILE(fstat, false, int, (int file, struct stat* status), (file, status))
FAULT_OF_FILE(fstat64, false, int, (int file, struct stat64* status), (file, status))

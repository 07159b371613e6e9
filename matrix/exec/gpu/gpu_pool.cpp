#include "matrix/exec/gpu/gpu_pool.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "matrix/contract/device/device_facts.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_to_lock(const fs::path& path) {
  const int error = errno;
  throw StoreError(
      fmt::format("{}: a GPU cannot be locked: {}; set REPROBENCH_LOCK_DIR to a folder that every user of "
                  "this host may write to",
                  path.string(), std::strerror(error)));
}

// An open lock, or an invalid descriptor if another runner holds it. A lock that cannot be made is an error: running on
// regardless would time two programs at once and not know it.
FileDescriptor try_lock(const fs::path& folder, const std::string& uuid, bool exclusive) {
  const fs::path path = folder / ("reprobench-" + uuid + ".lock");
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  // Kernels refuse O_CREAT on another user's file in a sticky folder (fs.protected_regular), so that comes second.
  FileDescriptor lock(open(path.c_str(), kFlags));
  if (!lock.is_open() && errno == ENOENT) {
    lock = FileDescriptor(open(path.c_str(), kFlags | O_CREAT, 0666));
    if (lock.is_open()) fchmod(lock.get(), 0666);  // whatever the umask: the next user's runner must open it too
  }
  if (!lock.is_open()) fail_to_lock(path);
  if (flock(lock.get(), (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) fail_to_lock(path);
  return FileDescriptor();
}

// A UUID comes from a driver; a file name must not.
std::string file_name_of(const GpuFacts& gpu) {
  std::string name = gpu.uuid;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') c = '_';
  }
  return name;
}

}  // namespace

fs::path gpu_lock_folder() {
  if (const char* given = std::getenv("REPROBENCH_LOCK_DIR"); given != nullptr && *given != '\0') return given;
  constexpr const char* kSystemWide = "/run/lock";
  return access(kSystemWide, W_OK | X_OK) == 0 ? fs::path(kSystemWide) : fs::temp_directory_path();
}

GpuPool::GpuPool(std::vector<GpuFacts> gpus, fs::path lock_folder) : lock_folder_(std::move(lock_folder)) {
  for (GpuFacts& gpu : gpus) entries_.push_back({std::move(gpu), false, ""});
}

std::optional<GpuLease> GpuPool::try_lease(const std::string& wanted_class, int count, bool exclusive) {
  std::vector<Entry*> candidates;
  for (Entry& entry : entries_) {
    const bool is_free = !entry.is_leased && entry.quarantined_because.empty();
    if (is_free && device_class(entry.gpu.compute_capability) == wanted_class && unusable_because(entry.gpu).empty()) {
      candidates.push_back(&entry);
    }
  }
  // No lock is waited for, and all are asked for in one order; who can no longer have as many as it wants asks for no
  // further one, so that of two runners that want the same GPUs the one with the first of them gets the rest.
  GpuLease lease;
  std::vector<Entry*> taken;
  for (std::size_t i = 0; i < candidates.size() && static_cast<int>(taken.size()) < count; ++i) {
    if (taken.size() + (candidates.size() - i) < static_cast<std::size_t>(count)) return std::nullopt;
    Entry& entry = *candidates[i];
    FileDescriptor lock = try_lock(lock_folder_, file_name_of(entry.gpu), exclusive);
    if (!lock.is_open()) continue;
    taken.push_back(&entry);
    lease.gpus_.push_back(entry.gpu);
    lease.locks_.push_back(std::move(lock));
  }
  if (static_cast<int>(taken.size()) < count) return std::nullopt;
  for (Entry* entry : taken) entry->is_leased = true;
  return lease;
}

void GpuPool::give_back(const GpuLease& lease) {
  for (Entry& entry : entries_) {
    for (const GpuFacts& gpu : lease.gpus()) {
      if (entry.gpu.uuid == gpu.uuid) entry.is_leased = false;
    }
  }
}

void GpuPool::quarantine(const std::string& uuid, const std::string& reason) {
  for (Entry& entry : entries_) {
    if (entry.gpu.uuid == uuid && entry.quarantined_because.empty()) entry.quarantined_because = reason;
  }
}

std::string GpuPool::hopeless_because(const std::string& wanted_class, int count) const {
  int usable = 0;
  std::vector<std::string> reasons;
  for (const Entry& entry : entries_) {
    if (device_class(entry.gpu.compute_capability) != wanted_class) continue;
    const std::string unusable = unusable_because(entry.gpu);
    if (!unusable.empty()) {
      reasons.push_back(fmt::format("{}: {}", entry.gpu.uuid, unusable));
    } else if (!entry.quarantined_because.empty()) {
      reasons.push_back(fmt::format("{} is quarantined: {}", entry.gpu.uuid, entry.quarantined_because));
    } else {
      ++usable;
    }
  }
  if (usable >= count) return "";
  return fmt::format("{} GPU of class {} wanted, {} left{}{}", count, wanted_class, usable, reasons.empty() ? "" : "; ",
                     fmt::join(reasons, "; "));
}

std::string visible_devices(const std::vector<GpuFacts>& gpus) {
  std::vector<std::string> names;
  for (const GpuFacts& gpu : gpus) names.push_back(gpu.uuid);
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace reprobench

// The lock and the folders that an installation works with. Folders are gone at the end of their scope unless they are
// kept, so that a stack is there whole or not at all.
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "matrix/provision/progress.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/stack_manifest.hpp"

namespace reprobench {

// Files of a worker's folder.
inline constexpr const char* kWorkerName = "reprobench-worker";
inline constexpr const char* kWorkerDigestName = "reprobench-worker.sha256";  // as it was built, and no newline
inline constexpr const char* kDescriptionName = "describe.json";

// Held by whoever changes a stack's folder, until destroyed or until its process ends.
class StackLock {
 public:
  StackLock(const std::filesystem::path& home, const std::string& folder, const PhaseSink& progress) {
    std::filesystem::create_directories(home / "locks");
    const std::filesystem::path path = home / "locks" / folder;
    descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor_ < 0) {
      throw ProvisionError(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
    }
    if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
    if (progress) progress("wait for another installation of this stack", -1);
    while (flock(descriptor_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      close(descriptor_);
      throw ProvisionError(fmt::format("{}: cannot be locked: {}", path.string(), std::strerror(error)));
    }
  }
  ~StackLock() { close(descriptor_); }
  StackLock(const StackLock&) = delete;
  StackLock& operator=(const StackLock&) = delete;

 private:
  int descriptor_ = -1;
};

// A folder that is gone, with all below it, at the end of the scope unless it is kept.
class ScopedFolder {
 public:
  explicit ScopedFolder(std::filesystem::path path) : path_(std::move(path)) {}
  ~ScopedFolder() {
    std::error_code ignored;  // what cannot be removed now, the next installation removes
    if (!kept_) std::filesystem::remove_all(path_, ignored);
  }
  ScopedFolder(const ScopedFolder&) = delete;
  ScopedFolder& operator=(const ScopedFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  std::filesystem::path path_;
  bool kept_ = false;
};

// The folder of a stack while another one takes its place: unless that is kept, what was there is put back.
class ReplacedFolder {
 public:
  ReplacedFolder(std::filesystem::path path, std::filesystem::path aside)
      : path_(std::move(path)), aside_(std::move(aside)) {
    if (!has_manifest(path_)) std::filesystem::remove_all(path_);
    if (std::filesystem::exists(path_)) std::filesystem::rename(path_, aside_);
  }
  ~ReplacedFolder() {
    if (kept_) return;
    std::error_code ignored;  // there may be nothing to put back
    std::filesystem::remove_all(path_, ignored);
    std::filesystem::rename(aside_, path_, ignored);
  }
  ReplacedFolder(const ReplacedFolder&) = delete;
  ReplacedFolder& operator=(const ReplacedFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  std::filesystem::path path_;
  std::filesystem::path aside_;
  bool kept_ = false;
};

// A new folder below HOME/staging for one installation. Folders of the same stack that are there already belong to
// installations that were killed, because the caller holds the stack's lock; a pip or compiler they left behind may
// still be writing, so what cannot be removed now is left for the next time, and the new folder has a name of its own.
inline std::filesystem::path make_staging(const std::filesystem::path& home, const std::string& name) {
  const std::filesystem::path staging = home / "staging";
  std::filesystem::create_directories(staging);
  for (const auto& entry : std::filesystem::directory_iterator(staging)) {
    std::error_code still_in_use;
    if (entry.path().filename().string().starts_with(name + ".")) std::filesystem::remove_all(entry, still_in_use);
  }
  std::string path = (staging / (name + ".XXXXXX")).string();
  if (mkdtemp(path.data()) == nullptr) {
    throw ProvisionError(fmt::format("{}: cannot be made: {}", path, std::strerror(errno)));
  }
  return path;
}

}  // namespace reprobench

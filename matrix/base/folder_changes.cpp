#include "matrix/base/folder_changes.hpp"

#include <array>

#include <poll.h>
#include <sys/inotify.h>

namespace reprobench {

FolderChanges::FolderChanges(const std::filesystem::path& folder) : watch_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  if (watch_.is_open() && inotify_add_watch(watch_.get(), folder.c_str(), IN_CREATE | IN_MODIFY | IN_MOVED_TO) < 0) {
    watch_.reset();
  }
}

void FolderChanges::sleep() {
  pollfd changed{watch_.get(), POLLIN, 0};  // poll() takes no notice of a negative descriptor
  if (poll(&changed, 1, kLongestSleep_ms) <= 0) return;
  std::array<char, 4096> events;
  while (read(watch_.get(), events.data(), events.size()) > 0) continue;
}

}  // namespace reprobench

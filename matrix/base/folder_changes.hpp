// Sleeps until something in a folder is written, without a look at it every few milliseconds.
//
// The kernel tells of changes that this host makes (inotify). Of others, on a network file system, it does not, and a
// user may have no watch left. So a sleep is never longer than kLongestSleep_ms, and the caller looks again.
#pragma once

#include <filesystem>

#include "matrix/base/file_descriptor.hpp"

namespace reprobench {

class FolderChanges {
 public:
  static constexpr int kLongestSleep_ms = 20;

  // A folder that cannot be watched is looked at after each sleep, and nothing is said of it.
  explicit FolderChanges(const std::filesystem::path& folder);

  // Returns after a change since the last call, or since the construction; also after a signal or the longest sleep.
  void sleep();

 private:
  FileDescriptor watch_;
};

}  // namespace reprobench

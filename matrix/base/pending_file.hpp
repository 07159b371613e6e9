// A file that is not there under its own name before it is complete and on the disk: written under a hidden name beside
// it, synced, renamed. Not published, it leaves nothing behind.
#pragma once

#include <filesystem>
#include <string_view>

#include <sys/types.h>

#include "matrix/base/file_descriptor.hpp"

namespace reprobench {

class PendingFile {
 public:
  // `mode` as open(2) takes it. All members throw std::system_error with the path.
  PendingFile(std::filesystem::path path, mode_t mode);
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile();

  void append(std::string_view bytes);
  void publish();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  FileDescriptor file_;
};

}  // namespace reprobench

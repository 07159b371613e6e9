// A file that appears under its own name only when it is complete and on the disk. It is written under a hidden name
// beside it, synced and renamed. If it is not published, it leaves nothing behind.
#pragma once

#include <filesystem>
#include <string_view>

#include <sys/types.h>

#include "matrix/base/file_descriptor.hpp"

namespace reprobench {

class PendingFile {
 public:
  // `mode` as for open(2). All members throw std::system_error with the path.
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

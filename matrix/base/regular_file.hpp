// Reads a file that may be anything. A FIFO, a device or a folder is reported and never waited for. At most as much is
// read as a file of its kind may have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "matrix/base/file_descriptor.hpp"

namespace reprobench {

enum class Links { followed, refused };

struct RegularFile {
  FileDescriptor fd;            // not open if there is a problem
  std::int64_t size_bytes = 0;  // 0 for the kernel's files, which have content all the same
  std::int64_t names = 0;       // number of links to it
  std::string problem;          // "missing", "is a symbolic link", "is not a regular file", or the errno text
};

RegularFile open_regular_file(const std::filesystem::path& path, Links links = Links::followed);

struct FileText {
  std::string text;
  std::string problem;  // as above, or "is larger than N bytes"; then there is no text
};

FileText read_regular_file(const std::filesystem::path& path, std::int64_t limit_bytes, Links links = Links::followed);

// Reads a file that was opened; `limit_bytes` as above.
FileText read_regular_file(const RegularFile& file, std::int64_t limit_bytes);

}  // namespace reprobench

// How a file is read that may be anything: a FIFO, a device or a folder is named and not waited for, and no more of it
// is held than a file of its kind may have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "matrix/base/file_descriptor.hpp"

namespace reprobench {

enum class Links { followed, refused };

struct RegularFile {
  FileDescriptor fd;            // not open where there is a problem
  std::int64_t size_bytes = 0;  // 0 of the kernel's files, which have something all the same
  std::int64_t names = 0;       // links to it
  std::string problem;          // "missing", "is a symbolic link", "is not a regular file", or the errno text
};

RegularFile open_regular_file(const std::filesystem::path& path, Links links = Links::followed);

struct FileText {
  std::string text;
  std::string problem;  // as above, or "is larger than N bytes"; then there is no text
};

FileText read_regular_file(const std::filesystem::path& path, std::int64_t limit_bytes, Links links = Links::followed);

// Of one that was opened; `limit_bytes`: as above.
FileText read_regular_file(const RegularFile& file, std::int64_t limit_bytes);

}  // namespace reprobench

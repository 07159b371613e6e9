// Reads files that a worker left, and trusts none of them. A file that is a link, a FIFO, a device or too large is
// reported, and not followed, waited for or loaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <variant>

#include <nlohmann/json.hpp>

#include "matrix/base/file_descriptor.hpp"

namespace reprobench {

struct FileProblem {
  std::string text;  // "missing", "is a symbolic link", "is not a regular file", "has 2 names", or the errno text
};

// A regular file with one name, opened for reading.
std::variant<FileDescriptor, FileProblem> open_plain_file(const std::filesystem::path& path);

std::variant<std::string, FileProblem> read_plain_file(const std::filesystem::path& path, std::int64_t limit_bytes);

// At most the last `limit_bytes` of a file; empty if there is nothing to read.
std::string read_tail(const std::filesystem::path& path, std::int64_t limit_bytes);

// The outcome of reading a file of checked lines (contract/trace.hpp, trace_line).
struct LinesRead {
  std::int64_t complete_lines = 0;
  bool torn_tail = false;  // the only problem is that the last line was cut
  std::string problem;     // empty: all read; else "trace.jsonl:118: line cut after 73 bytes; 117 complete lines kept"
};

// Passes every line's body to `accept` until the first problem; `accept` returns a problem too, or an empty text. Lines
// may be up to 16 MiB long.
LinesRead read_checked_lines(const std::filesystem::path& path,
                             const std::function<std::string(const nlohmann::json&)>& accept);

}  // namespace reprobench

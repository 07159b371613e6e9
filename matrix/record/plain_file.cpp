#include "matrix/record/plain_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <sys/stat.h>

#include "matrix/base/regular_file.hpp"
#include "matrix/contract/trace.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kLongestLineBytes = 16u << 20;
constexpr std::size_t kChunkBytes = 256u << 10;

// Appends up to one chunk; returns how much came, 0 at the end, -1 with errno on an error.
ssize_t read_chunk(int fd, std::string& buffer) {
  const std::size_t old_size = buffer.size();
  buffer.resize(old_size + kChunkBytes);
  ssize_t count = 0;
  do {
    count = read(fd, buffer.data() + old_size, kChunkBytes);
  } while (count < 0 && errno == EINTR);
  buffer.resize(old_size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return count;
}

// Offset of the first byte that is not part of well-formed UTF-8, or npos.
std::size_t first_invalid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80             ? 1
                               : (lead & 0xe0) == 0xc0 ? 2
                               : (lead & 0xf0) == 0xe0 ? 3
                               : (lead & 0xf8) == 0xf0 ? 4
                                                       : 0;
    if (length == 0 || i + length > text.size()) return i;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

std::string line_problem(std::string_view line, const std::string& problem) {
  const std::size_t offset = first_invalid_utf8(line);
  if (offset == std::string_view::npos) return problem;
  return "invalid UTF-8 at byte " + std::to_string(offset + 1);
}

}  // namespace

std::variant<FileDescriptor, FileProblem> open_plain_file(const std::filesystem::path& path) {
  RegularFile file = open_regular_file(path, Links::refused);
  if (!file.problem.empty()) return FileProblem{file.problem};
  if (file.names > 1) return FileProblem{"has " + std::to_string(file.names) + " names"};
  return std::move(file.fd);
}

std::variant<std::string, FileProblem> read_plain_file(const std::filesystem::path& path, std::int64_t limit_bytes) {
  const RegularFile file = open_regular_file(path, Links::refused);
  if (file.names > 1) return FileProblem{"has " + std::to_string(file.names) + " names"};
  FileText read = read_regular_file(file, limit_bytes);
  if (!read.problem.empty()) return FileProblem{std::move(read.problem)};
  return std::move(read.text);
}

std::string read_tail(const std::filesystem::path& path, std::int64_t limit_bytes) {
  auto opened = open_plain_file(path);
  if (std::holds_alternative<FileProblem>(opened)) return "";
  const int fd = std::get<FileDescriptor>(opened).get();
  struct stat status {};
  if (fstat(fd, &status) != 0) return "";
  std::string tail(static_cast<std::size_t>(std::min<std::int64_t>(limit_bytes, status.st_size)), '\0');
  const ssize_t count = pread(fd, tail.data(), tail.size(), status.st_size - static_cast<off_t>(tail.size()));
  tail.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return tail;
}

LinesRead read_checked_lines(const std::filesystem::path& path,
                             const std::function<std::string(const nlohmann::json&)>& accept) {
  const std::string name = path.filename().string();
  LinesRead result;
  auto opened = open_plain_file(path);
  if (auto* problem = std::get_if<FileProblem>(&opened)) {
    result.problem = name + ": " + problem->text;
    return result;
  }
  const int fd = std::get<FileDescriptor>(opened).get();
  const auto stop_at_line = [&](const std::string& what) {
    result.problem = name + ":" + std::to_string(result.complete_lines + 1) + ": " + what + "; " +
                     std::to_string(result.complete_lines) + " complete lines kept";
    return result;
  };

  std::string buffer;
  std::size_t searched = 0;  // no newline before this offset
  for (;;) {
    const std::size_t newline = buffer.find('\n', searched);
    if (newline == std::string::npos) {
      searched = buffer.size();
      if (buffer.size() > kLongestLineBytes) return stop_at_line("line longer than 16 MiB");
      const ssize_t count = read_chunk(fd, buffer);
      if (count < 0) return stop_at_line(std::strerror(errno));
      if (count == 0) break;
      continue;
    }
    // One pass over all whole lines of the buffer; what is left of it is moved to the front once.
    std::size_t begin = 0;
    for (std::size_t end = newline; end != std::string::npos; end = buffer.find('\n', begin)) {
      const std::string_view line(buffer.data() + begin, end - begin);
      const auto parsed = parse_trace_line(line, result.complete_lines);
      if (const auto* problem = std::get_if<std::string>(&parsed)) return stop_at_line(line_problem(line, *problem));
      const std::string refused = accept(std::get<nlohmann::json>(parsed));
      if (!refused.empty()) return stop_at_line(refused);
      ++result.complete_lines;
      begin = end + 1;
    }
    buffer.erase(0, begin);
    searched = 0;
  }
  if (!buffer.empty()) {
    result.torn_tail = true;
    return stop_at_line("line cut after " + std::to_string(buffer.size()) + " bytes");
  }
  if (result.complete_lines == 0) result.problem = name + ": empty";
  return result;
}

}  // namespace reprobench

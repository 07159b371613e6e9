#include "matrix/spec/files/input_text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "matrix/base/nearest_name.hpp"
#include "matrix/base/regular_file.hpp"

namespace reprobench {
namespace {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
};

// The code point at the start of `text`; nothing if it is not UTF-8 (RFC 3629: no overlong forms, no surrogates).
std::optional<CodePoint> decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return CodePoint{first, 1};
  const std::size_t length = first >= 0xF0 && first <= 0xF4   ? 4
                             : first >= 0xE0 && first < 0xF0  ? 3
                             : first >= 0xC2 && first <= 0xDF ? 2
                                                              : 0;
  if (length == 0 || text.size() < length) return std::nullopt;
  char32_t value = first & (0xFF >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return std::nullopt;
    value = (value << 6) | (byte(i) & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return std::nullopt;
  return CodePoint{value, length};
}

bool is_control(char32_t c) {
  return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c <= 0x9F) || c == 0x2028 || c == 0x2029 ||
         c == 0xFEFF || c == 0xFFFE || c == 0xFFFF;
}

bool is_bidirectional_control(char32_t c) {
  return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

bool looks_like_utf16(std::string_view text) {
  if (text.size() < 2) return false;
  const std::string_view start = text.substr(0, 2);
  return start == "\xFF\xFE" || start == "\xFE\xFF" || (start[0] == '\0') != (start[1] == '\0');
}

// Walks the text once; each kind of finding is reported where it is first seen.
class TextScan {
 public:
  TextScan(std::string_view text, const std::string& file, Diagnostics& diagnostics)
      : text_(text), mark_{file, 1, 1}, diagnostics_(diagnostics) {}

  void run() {
    std::size_t at = 0;
    while (at < text_.size()) {
      const auto point = decode(text_.substr(at));
      if (!point) {
        diagnostics_.error(mark_, "RB002", fmt::format("not UTF-8 at byte offset {}", at), "save the file as UTF-8");
        return;
      }
      inspect(point->value, at);
      at += point->bytes;
      advance(point->value, point->bytes);
    }
  }

 private:
  void inspect(char32_t c, std::size_t at) {
    const bool carriage_return_of_line_end = c == '\r' && at + 1 < text_.size() && text_[at + 1] == '\n';
    if (is_control(c) && !carriage_return_of_line_end) {
      once(control_seen_, "RB003", fmt::format("control character U+{:04X} is not accepted", unsigned(c)));
    }
    if (c == '\t' && indenting_) once(tab_seen_, "RB004", "a tab indents this line; use spaces");
    if (is_bidirectional_control(c)) {
      once(bidi_seen_, "RB026", fmt::format("bidirectional control character U+{:04X} is not accepted", unsigned(c)));
    }
  }

  void once(bool& seen, const char* code, std::string what) {
    if (!seen) diagnostics_.error(mark_, code, std::move(what));
    seen = true;
  }

  void advance(char32_t c, std::size_t bytes) {
    if (c == '\n') {
      ++mark_.line;
      mark_.column = 1;
      indenting_ = true;
    } else {
      mark_.column += static_cast<int>(bytes);
      if (c != ' ' && c != '\t') indenting_ = false;
    }
  }

  std::string_view text_;
  Mark mark_;
  Diagnostics& diagnostics_;
  bool indenting_ = true;
  bool control_seen_ = false;
  bool tab_seen_ = false;
  bool bidi_seen_ = false;
};

// The name beside a missing file that was probably meant, after "; "; empty if there is none.
std::string hint_of_missing(const std::filesystem::path& path) {
  constexpr std::size_t kMostNames = 1000;
  std::vector<std::string> names;
  std::error_code none;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  for (std::filesystem::directory_iterator at(folder, none), end; !none && at != end && names.size() < kMostNames;
       at.increment(none)) {
    if (at->path().filename() != path.filename()) names.push_back(at->path().filename());  // a link to nothing
  }
  std::sort(names.begin(), names.end());
  const std::string nearest = nearest_name(path.filename().string(), names);
  return nearest.empty() ? "" : fmt::format("; did you mean `{}`?", (path.parent_path() / nearest).string());
}

}  // namespace

std::string_view without_byte_order_mark(std::string_view text) {
  return text.substr(0, 3) == "\xEF\xBB\xBF" ? text.substr(3) : text;
}

void check_input_text(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  if (looks_like_utf16(text)) {
    diagnostics.error({file, 1, 1}, "RB002", "the file is UTF-16", "save the file as UTF-8");
    return;
  }
  TextScan(text, file, diagnostics).run();
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto point = decode(text);
    if (!point) return false;
    text.remove_prefix(point->bytes);
  }
  return true;
}

void check_utf8(std::string_view text, const std::string& file) {
  if (looks_like_utf16(text)) throw_spec_error({file, 1, 1}, "RB002", "the file is UTF-16", "save the file as UTF-8");
  Mark mark{file, 1, 1};
  for (std::size_t at = 0; at < text.size();) {
    const auto point = decode(text.substr(at));
    if (!point)
      throw_spec_error(mark, "RB002", fmt::format("not UTF-8 at byte offset {}", at), "save the file as UTF-8");
    if (point->value == 0) throw_spec_error(mark, "RB003", "control character U+0000 is not accepted");
    mark.column += static_cast<int>(point->bytes);
    if (point->value == '\n') {
      ++mark.line;
      mark.column = 1;
    }
    at += point->bytes;
  }
}

std::string read_input_file(const std::string& path, std::size_t limit) {
  const auto refuse = [&](const std::string& why) {
    throw_spec_error({path, 0, 0}, "RB027", "cannot be read: " + why);
  };
  const RegularFile file = open_regular_file(path);
  if (file.problem == "missing") refuse(std::strerror(ENOENT) + hint_of_missing(path));
  if (std::error_code none; std::filesystem::is_directory(path, none)) refuse("it is a folder");
  if (!file.problem.empty()) refuse(file.problem.starts_with("is ") ? "it " + file.problem : file.problem);
  // For a larger file one byte too many is enough: its reader refuses it by its size.
  if (file.size_bytes > static_cast<std::int64_t>(limit)) return std::string(limit + 1, ' ');
  FileText read = read_regular_file(file, static_cast<std::int64_t>(limit));
  if (!read.problem.empty()) refuse(read.problem);
  return std::move(read.text);
}

}  // namespace reprobench

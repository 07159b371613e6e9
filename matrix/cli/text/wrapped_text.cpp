#include "matrix/cli/text/wrapped_text.hpp"

#include <algorithm>

namespace reprobench {
namespace {

constexpr std::size_t kColumns = 80;

}  // namespace

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string wrapped(const std::string& text, std::size_t first_column, std::size_t indent) {
  std::string lines;
  std::size_t column = first_column;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (at > 0 && column + 1 + columns(word) > kColumns) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (at > 0) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += columns(word);
    at = end + 1;
  }
  return lines;
}

}  // namespace reprobench

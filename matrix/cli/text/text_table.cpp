#include "matrix/cli/text/text_table.hpp"

#include <algorithm>

#include "matrix/base/digits.hpp"
#include "matrix/cli/text/terminal.hpp"

namespace reprobench {

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == kColorMark) {
      ++i;
    } else if ((text[i] & 0xC0) != 0x80) {
      ++count;
    }
  }
  return count;
}

std::string wrapped(const std::string& text, std::size_t first_column, std::size_t indent) {
  constexpr std::size_t kColumns = 80;
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

TextTable::TextTable(std::string_view layout) {
  for (std::size_t at = 0; at < layout.size();) {
    Column column;
    for (; layout[at] == ' '; ++at) ++column.gap;
    column.kind = layout[at++];
    for (; at < layout.size() && is_digit(layout[at]); ++at) {
      column.width = 10 * column.width + static_cast<std::size_t>(layout[at] - '0');
    }
    columns_.push_back(column);
  }
}

TextTable& TextTable::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) {
    std::ranges::replace_if(
        cell, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  }
  rows_.push_back({std::move(cells), ""});
  return *this;
}

TextTable& TextTable::lines(std::string text) {
  rows_.push_back({{}, std::move(text)});
  return *this;
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(columns_[i].width);
    for (const Row& row : rows_) {
      if (columns_[i].width == 0 && i < row.cells.size()) widths[i] = std::max(widths[i], columns(row.cells[i]));
    }
  }
  std::string text;
  for (const Row& row : rows_) text += row.cells.empty() ? row.lines : row_text(row, widths) + "\n";
  return text;
}

std::string TextTable::row_text(const Row& row, const std::vector<std::size_t>& widths) const {
  std::string text;
  std::size_t begin = 0;  // of the column
  std::size_t at = 0;     // where the line has come to
  std::size_t blanks = 0;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const auto& [gap, kind, width] = columns_.at(i);
    const std::string& cell = row.cells[i];
    const std::size_t padding = widths[i] - std::min(widths[i], columns(cell));
    begin += gap;
    blanks += gap + (kind == '>' ? padding : 0);
    if (!cell.empty()) {
      at += blanks;
      text += std::string(blanks, ' ') + (kind == '~' ? wrapped(cell, at, begin) : cell);
      at += columns(cell);
      blanks = 0;
    }
    if (kind != '>') blanks += padding;
    begin += widths[i];
  }
  return text;
}

}  // namespace reprobench

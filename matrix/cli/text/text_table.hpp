// Text for a terminal of 80 columns.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace reprobench {

// The number of columns of UTF-8 text, one for each code point, since reprobench writes no wide characters. Marks of
// colours have none.
std::size_t columns(std::string_view text);

// Breaks text between words so that no line is longer than 80 columns; a longer word has a line of its own. All lines
// but the first begin with `indent` blanks.
std::string wrapped(const std::string& text, std::size_t first_column, std::size_t indent);

// Lines in columns. A layout shows how a line is made. Blanks stand for themselves. `<12` is a column of 12 in which
// text begins at the left, `>12` one in which it ends at the right; without a number a column is as wide as its widest
// cell. `~` is a last column that is wrapped below its own beginning. A cell longer than its column moves the rest of
// its line; no line ends in blanks.
class TextTable {
 public:
  explicit TextTable(std::string_view layout);

  // A cell is one line: its line breaks become blanks. Cells at the end may be missing.
  template <class... Cells>
  TextTable& row(Cells&&... cells) {
    return add({fmt::format("{}", std::forward<Cells>(cells))...});
  }
  TextTable& add(std::vector<std::string> cells);

  // A row of a label and a text.
  template <class... Args>
  TextTable& say(std::string_view label, fmt::format_string<Args...> form, Args&&... args) {
    return row(label, fmt::format(form, std::forward<Args>(args)...));
  }

  // A row for each item, the first with the label; of more than `most`, a last one that counts the others.
  template <class Items, class Text = std::identity>
  TextTable& list(std::string_view label, const Items& items, Text text_of = {},
                  std::size_t most = std::numeric_limits<std::size_t>::max(), std::string_view others = "more") {
    std::size_t shown = 0;
    for (auto item = items.begin(); item != items.end() && shown < most; ++item, ++shown) {
      row(shown == 0 ? label : "", text_of(*item));
    }
    if (shown < items.size()) say("", "and {} {}", items.size() - shown, others);
    return *this;
  }

  // What stands in no column.
  template <class... Args>
  TextTable& line(fmt::format_string<Args...> form, Args&&... args) {
    return lines(fmt::format(form, std::forward<Args>(args)...) + "\n");
  }
  TextTable& lines(std::string text);

  std::string text() const;

 private:
  struct Column {
    std::size_t gap = 0;  // blanks before it
    char kind = '<';
    std::size_t width = 0;  // 0: of its widest cell
  };
  struct Row {
    std::vector<std::string> cells;
    std::string lines;  // without cells
  };

  std::string row_text(const Row& row, const std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace reprobench

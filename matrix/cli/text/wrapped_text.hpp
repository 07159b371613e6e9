// Text for a terminal of 80 columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reprobench {

// The number of columns of UTF-8 text, one for each code point, since reprobench writes no wide characters.
std::size_t columns(std::string_view text);

// Breaks text between words so that no line is longer than 80 columns; a longer word has a line of its own. All lines
// but the first begin with `indent` blanks.
std::string wrapped(const std::string& text, std::size_t first_column, std::size_t indent);

}  // namespace reprobench

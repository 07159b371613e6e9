// Text for a terminal of 80 columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reprobench {

// Columns of UTF-8 text, one a code point: what reprobench writes has no wide characters.
std::size_t columns(std::string_view text);

// Broken between words so that nothing stands right of column 80; a word that is longer stands alone. All lines but the
// first begin with `indent` blanks.
std::string wrapped(const std::string& text, std::size_t first_column, std::size_t indent);

}  // namespace reprobench

// Text of unknown origin, made safe to show. Text from a worker, a YAML file or a file name must not move the cursor,
// recolour a verdict, turn the reading direction or begin a line of its own.
#pragma once

#include <string>
#include <string_view>

namespace reprobench {

// Replaces by `?`: control characters other than newline and tab, bidirectional marks, line separators, characters that
// no document may hold (U+FFFE and its like) and bytes that are no UTF-8.
std::string plain_text(std::string_view text);

// The same in one line: newlines and tabs become spaces.
std::string plain_line(std::string_view text);

}  // namespace reprobench

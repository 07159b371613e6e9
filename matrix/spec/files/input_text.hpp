// What must hold of a file's bytes before any parser sees them: UTF-8 without control characters, tabs that indent, or
// characters that reorder what a reviewer reads.
#pragma once

#include <string>
#include <string_view>

#include "matrix/spec/diagnostics.hpp"

namespace reprobench {

// Without a leading byte order mark.
std::string_view without_byte_order_mark(std::string_view text);

// Reports RB002 (encoding), RB003 (control characters), RB004 (tabs) and RB026 (bidirectional controls), each at its
// first place. Columns count bytes, as the YAML parser's do.
void check_input_text(std::string_view text, const std::string& file, Diagnostics& diagnostics);

// Whether it is UTF-8 (RFC 3629: no overlong forms, no surrogates).
bool is_utf8(std::string_view text);

// Of data, which may hold any character: throws SpecError RB002 where it is no UTF-8, RB003 for a byte 0.
void check_utf8(std::string_view text, const std::string& file);

// The whole file, up to `limit` bytes and one more, so that a caller sees that it is longer. Throws SpecError (RB027)
// if it cannot be read.
std::string read_input_file(const std::string& path, std::size_t limit);

}  // namespace reprobench

// Checks a file's bytes before any parser sees them. They must be UTF-8 without control characters, tabs that indent,
// or characters that reorder the text that a reviewer reads.
#pragma once

#include <string>
#include <string_view>

#include "matrix/spec/diagnostics.hpp"

namespace reprobench {

// `text` without a leading byte order mark.
std::string_view without_byte_order_mark(std::string_view text);

// Reports RB002 (encoding), RB003 (control characters), RB004 (tabs) and RB026 (bidirectional controls), each at the
// first place where it occurs. Columns count bytes, like the YAML parser's.
void check_input_text(std::string_view text, const std::string& file, Diagnostics& diagnostics);

// Whether the text is UTF-8 (RFC 3629: no overlong forms, no surrogates).
bool is_utf8(std::string_view text);

// For data, which may hold any character: throws SpecError RB002 if it is not UTF-8, and RB003 for a byte 0.
void check_utf8(std::string_view text, const std::string& file);

// The whole file, or its first `limit` + 1 bytes if it is longer, so that the caller sees this. Throws SpecError
// (RB027) if it cannot be read.
std::string read_input_file(const std::string& path, std::size_t limit);

}  // namespace reprobench

// Reads JSON strictly (RFC 8259) into JsonNode, every value with its line and column.
//
// Not the YAML reader: it takes unquoted keys, comments and single quotes, and refuses tabs, so a file
// that Hugging Face's json.load cannot read would be called fine and one that everybody reads would be refused. What
// DeepSpeed's own reader (hjson) takes beyond JSON is an error here that says so. nlohmann's parser has no places.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "matrix/spec/files/json_node.hpp"

namespace reprobench {

inline constexpr std::size_t kMaxJsonBytes = std::size_t{1} << 20;
inline constexpr int kMaxJsonDepth = 32;

// The root object. Throws SpecError at the first thing that is no JSON: RB001 no content, RB002, RB003 and RB026 its
// bytes, RB005 its grammar, RB007 no object, RB015 too deep, RB016 too large. A repeated key is no error of reading.
JsonNode read_json(const std::string& text, const std::string& file);

// Of a file that holds many: the items of a list, or JSON Lines, an object a line. Each is handed to `take` in order
// and then forgotten, so that a large file costs its own bytes and one item. Throws as read_json does, but text may
// hold whatever RFC 8259 and UTF-8 allow, and a file of neither form is RB007.
void read_json_items(const std::string& text, const std::string& file,
                     const std::function<void(const JsonNode&)>& take);

}  // namespace reprobench

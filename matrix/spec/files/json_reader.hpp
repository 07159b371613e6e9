// Reads JSON strictly (RFC 8259) into JsonNode, every value with its line and column.
//
// The YAML reader cannot be used: it takes unquoted keys, comments and single quotes, and refuses tabs. It would accept
// a file that Hugging Face's json.load cannot read, and refuse one that everybody reads. DeepSpeed's own reader (hjson)
// accepts more than JSON; here that is an error that says so. nlohmann's parser has no places.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "matrix/spec/files/json_node.hpp"

namespace reprobench {

inline constexpr std::size_t kMaxJsonBytes = std::size_t{1} << 20;
inline constexpr int kMaxJsonDepth = 32;

// The root object of a configuration of DeepSpeed. Throws SpecError at the first thing that is no JSON: RB001 no
// content, RB002, RB003 and RB026 its bytes, RB005 its grammar, RB007 no object, RB015 too deep, RB016 too large. A
// repeated key is not an error here.
JsonNode read_json(const std::string& text, const std::string& file);

// The same for any other file; DeepSpeed is not spoken of.
JsonNode read_json_object(const std::string& text, const std::string& file);

// For a file of many items: the items of a list, or JSON Lines with one object in each line. Each is passed to `take`
// in order and then forgotten, so that a large file costs its own bytes and one item. Throws as read_json does, except
// that text may hold everything that RFC 8259 and UTF-8 allow, and a file of neither form is RB007.
void read_json_items(const std::string& text, const std::string& file,
                     const std::function<void(const JsonNode&)>& take);

}  // namespace reprobench

// One value of a JSON file, with its place in the file for error messages. Numbers are kept as the text in which they
// are written, because 5e8 must be told from 500000000.5 exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/spec/spec_error.hpp"

namespace reprobench {

struct JsonMember;

struct JsonNode {
  enum class Kind { null, flag, number, text, list, object };
  Kind kind = Kind::null;
  std::string text;  // characters of a text; the written form of a number or a flag
  std::vector<JsonNode> items;
  std::vector<JsonMember> members;  // in file order; a repeated key has an entry for each time
  Mark mark;

  bool is(Kind other) const { return kind == other; }
  bool is_auto() const { return kind == Kind::text && text == "auto"; }

  // The member of a key; the last if there are several, as in Python's json; null if there is none.
  const JsonMember* find(std::string_view key) const;
};

struct JsonMember {
  std::string key;
  Mark key_mark;
  JsonNode value;
};

// The value as a message shows it: 5e8, "auto", true, null, a list, an object.
std::string shown(const JsonNode& node);

// The exact integer of a number in JSON's grammar: 5e8 and 1.50e1 are integers. Nothing for 1.5, for 1e-1, and for
// numbers that do not fit 64 bits.
std::optional<std::int64_t> exact_integer(std::string_view number);

}  // namespace reprobench

// One value of a JSON file, with the place it stands at: what a finding points to. Numbers stay the text they are
// written as, because 5e8 must be told from 500000000.5 exactly.
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
  std::string text;  // of text its characters, of a number and a flag how it is written
  std::vector<JsonNode> items;
  std::vector<JsonMember> members;  // in file order, a key that is repeated as often as it is there
  Mark mark;

  bool is(Kind other) const { return kind == other; }
  bool is_auto() const { return kind == Kind::text && text == "auto"; }

  // The member of a key, of several the last, as Python's json takes it; null if there is none.
  const JsonMember* find(std::string_view key) const;
};

struct JsonMember {
  std::string key;
  Mark key_mark;
  JsonNode value;
};

// How a message shows a value: 5e8, "auto", true, null, a list, an object.
std::string shown(const JsonNode& node);

// The integer a number of JSON's grammar is exactly: 5e8 and 1.50e1 are integers, 1.5 and 1e-1 are none, and neither is
// what does not fit 64 bits.
std::optional<std::int64_t> exact_integer(std::string_view number);

}  // namespace reprobench

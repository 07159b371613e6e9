// One value of a YAML file as our own tree: every scalar is text, and every value knows its place in the file.
#pragma once

#include <string>
#include <vector>

#include "matrix/spec/spec_error.hpp"

namespace reprobench {

struct YamlEntry;

struct YamlNode {
  enum class Kind { null, scalar, sequence, map };
  Kind kind = Kind::null;
  std::string text;      // of a scalar
  bool quoted = false;   // "1" and not 1: a version must be quoted, a number must not
  bool refused = false;  // already reported; readers ignore it, so that one mistake gives one message
  std::vector<YamlNode> items;
  std::vector<YamlEntry> entries;  // in file order, keys unique
  Mark mark;

  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_sequence() const { return kind == Kind::sequence; }
  bool is_map() const { return kind == Kind::map; }

  // The value of a key; null if the map has none, or if this node is no map.
  const YamlNode* find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  Mark key_mark;
  YamlNode value;
};

// The value as an error message shows it: `12`, string "12", a list, a map, nothing.
std::string shown(const YamlNode& node);

}  // namespace reprobench

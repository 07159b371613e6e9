// The map of a file as a table of its keys. read_fields() finds unknown and missing keys, and each row says how its
// value is read. To add a key, add a row.
//
//   constexpr Field<SuiteSpec> kSuiteFields[] = {
//       {"name", kRequired, "As matrices name it.", [](SuiteSpec& suite, const YamlEntry& entry, Scope& scope) { ...
//       }},
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/key_reference.hpp"
#include "matrix/spec/nearest_name.hpp"
#include "matrix/spec/vocabulary.hpp"
#include "matrix/spec/yaml_node.hpp"

namespace reprobench {

// The state that all readers of one file share.
struct Scope {
  Diagnostics& diagnostics;
  const Vocabulary* vocabulary = nullptr;  // null for files that name no metric and no model
};

inline constexpr bool kRequired = true;
inline constexpr bool kOptional = false;

template <class T>
struct Field {
  const char* key;
  bool required;
  const char* meaning;  // for keys.md, one sentence
  void (*read)(T& target, const YamlEntry& entry, Scope& scope);
};

// A table of keys in the form of keys.md.
template <class T>
KeyTable key_table(std::string title, std::span<const Field<T>> fields) {
  KeyTable table{std::move(title), {}};
  for (const Field<T>& field : fields) table.keys.push_back({field.key, field.required, field.meaning});
  return table;
}

// Unknown keys are RB009, unless a place has its own code and noun ("bound", RB033).
struct UnknownKey {
  const char* code = "RB009";
  const char* noun = "key";
};

// True if `node` is a map; otherwise reports the refused kind of value.
inline bool is_map_or_reported(const std::string& what, const YamlNode& node, Scope& scope) {
  if (node.is_map() || node.refused) return node.is_map();
  scope.diagnostics.error(node.mark, "RB019", fmt::format("`{}` must be a map of keys, got {}", what, shown(node)));
  return false;
}

inline bool is_list_or_reported(const std::string& what, const YamlNode& node, const std::string& example,
                                Scope& scope) {
  if (node.is_sequence() || node.refused) return node.is_sequence();
  scope.diagnostics.error(node.mark, "RB019",
                          fmt::format("`{}` must be a list such as {}, got {}", what, example, shown(node)));
  return false;
}

template <class T>
void read_fields(T& target, const YamlNode& map, std::span<const Field<T>> fields, Scope& scope,
                 const UnknownKey& unknown = {}) {
  for (const YamlEntry& entry : map.entries) {
    const Field<T>* field = nullptr;
    for (const Field<T>& candidate : fields) {
      if (entry.key == candidate.key) field = &candidate;
    }
    if (field == nullptr) {
      std::vector<std::string> known;
      for (const Field<T>& candidate : fields) known.emplace_back(candidate.key);
      scope.diagnostics.error(entry.key_mark, unknown.code, fmt::format("unknown {} `{}`", unknown.noun, entry.key),
                              did_you_mean(entry.key, known));
    } else if (!entry.value.refused) {
      field->read(target, entry, scope);
    }
  }
  for (const Field<T>& field : fields) {
    if (field.required && map.find(field.key) == nullptr) {
      scope.diagnostics.error(map.mark, "RB018", fmt::format("required key `{}` is missing", field.key));
    }
  }
}

// Keeps the value of `target` if the new one was refused.
template <class T, class Value>
void assign(T& target, std::optional<Value> value) {
  if (value) target = std::move(*value);
}

// `schema: 1`, the first line of every file.
template <class T>
void read_schema_version(T&, const YamlEntry& entry, Scope& scope) {
  if (entry.value.is_scalar() && entry.value.text == "1" && !entry.value.quoted) return;
  scope.diagnostics.error(entry.value.mark, "RB019", fmt::format("`schema` must be 1, got {}", shown(entry.value)));
}

}  // namespace reprobench

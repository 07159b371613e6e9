#include "matrix/spec/selection_reader.hpp"

#include "matrix/spec/coordinate.hpp"
#include "matrix/spec/scalar.hpp"

namespace reprobench {
namespace {

std::vector<std::string> read_values(const YamlEntry& entry, Scope& scope) {
  std::vector<std::string> values;
  const auto add = [&](const YamlNode& node) {
    if (auto value = read_coordinate_value(entry.key, node, scope)) values.push_back(std::move(*value));
  };
  if (!entry.value.is_sequence()) {
    add(entry.value);
    return values;
  }
  if (entry.value.items.empty()) {
    scope.diagnostics.error(entry.value.mark, "RB023", fmt::format("`{}` lists no value", entry.key));
  }
  for (const YamlNode& item : entry.value.items) add(item);
  return values;
}

Selector read_coordinate_map(const YamlNode& map, Scope& scope) {
  std::vector<std::pair<std::string, std::vector<std::string>>> wanted;
  for (const YamlEntry& entry : map.entries) {
    if (is_coordinate_name(entry.key)) {
      wanted.emplace_back(entry.key, read_values(entry, scope));
    } else {
      scope.diagnostics.error(entry.key_mark, "RB009", fmt::format("unknown coordinate `{}`", entry.key),
                              did_you_mean(entry.key, coordinate_names()));
    }
  }
  if (map.entries.empty()) scope.diagnostics.error(map.mark, "RB018", "a selection names no coordinate");
  return Selector::all_of(wanted);
}

}  // namespace

Selector read_selector(const YamlNode& node, Scope& scope) {
  if (node.is_map()) return read_coordinate_map(node, scope);
  const auto text = read_text("where", node, scope);
  if (!text) return {};
  Mark inside = node.mark;
  if (node.quoted) ++inside.column;
  try {
    return Selector::parse(*text, inside);
  } catch (const SpecError& error) {
    scope.diagnostics.add(error);
    return {};
  }
}

Selector read_selection_rule(const std::string& what, const YamlNode& node, Scope& scope) {
  if (!is_map_or_reported(what, node, scope)) return {};
  if (node.find("where") == nullptr) return read_coordinate_map(node, scope);
  static constexpr Field<Selector> kFields[] = {
      {"where", kRequired, "Coordinates as a map, or an expression such as \"device == cpu and precision != fp32\".",
       [](Selector& selector, const YamlEntry& entry, Scope& inner) { selector = read_selector(entry.value, inner); }},
  };
  Selector selector;
  read_fields<Selector>(selector, node, kFields, scope);
  return selector;
}

}  // namespace reprobench

#include "matrix/spec/axis_reader.hpp"

#include <algorithm>
#include <set>

#include "matrix/spec/coordinate.hpp"
#include "matrix/spec/scalar.hpp"

namespace reprobench {
namespace {

bool is_axis_name(const std::string& name) {
  return std::find(axis_names().begin(), axis_names().end(), name) != axis_names().end();
}

const Axis* find_axis(const MatrixSpec& matrix, const std::string& name) {
  for (const Axis& axis : matrix.axes) {
    if (axis.name == name) return &axis;
  }
  return nullptr;
}

std::vector<std::string> names_of(const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  for (const Axis& axis : axes) names.push_back(axis.name);
  return names;
}

void read_axis_value(Axis& axis, const YamlNode& node, Scope& scope) {
  if (node.kind == YamlNode::Kind::null && !node.refused) {
    scope.diagnostics.error(node.mark, "RB023", fmt::format("axis `{}` has an empty value", axis.name));
    return;
  }
  auto value = read_coordinate_value(axis.name, node, scope);
  if (!value) return;
  const auto first = std::find(axis.values.begin(), axis.values.end(), *value);
  if (first != axis.values.end()) {
    const Mark& at = axis.value_marks[static_cast<std::size_t>(first - axis.values.begin())];
    scope.diagnostics.error(
        node.mark, "RB023",
        fmt::format("axis `{}` has the value `{}` twice; first at {}:{}", axis.name, *value, at.line, at.column));
    return;
  }
  axis.values.push_back(std::move(*value));
  axis.value_marks.push_back(node.mark);
}

void read_axis(MatrixSpec& matrix, const YamlEntry& entry, Scope& scope) {
  if (!is_axis_name(entry.key)) {
    scope.diagnostics.error(entry.key_mark, "RB009", fmt::format("unknown axis `{}`", entry.key),
                            did_you_mean(entry.key, axis_names()));
    return;
  }
  if (entry.value.kind == YamlNode::Kind::null && !entry.value.refused) {
    scope.diagnostics.error(entry.value.mark, "RB023", fmt::format("axis `{}` has no values", entry.key));
    return;
  }
  if (!is_list_or_reported(entry.key, entry.value, "[a, b]", scope)) return;
  Axis axis{entry.key, {}, entry.key_mark, {}};
  if (entry.value.items.empty()) {
    scope.diagnostics.error(entry.value.mark, "RB023", fmt::format("axis `{}` has no values", entry.key));
  }
  for (const YamlNode& item : entry.value.items) read_axis_value(axis, item, scope);
  matrix.axes.push_back(std::move(axis));
}

void check_zip(const MatrixSpec& matrix, const YamlNode& zip, Scope& scope) {
  std::set<std::string> zipped;
  for (std::size_t group = 0; group < std::min(matrix.zip.size(), zip.items.size()); ++group) {
    const Axis* first = nullptr;
    for (const std::string& name : matrix.zip[group]) {
      const Mark& mark = zip.items[group].mark;
      const Axis* axis = find_axis(matrix, name);
      if (axis == nullptr) {
        scope.diagnostics.error(mark, "RB024", fmt::format("zip names `{}`, which is no axis of this matrix", name),
                                did_you_mean(name, names_of(matrix.axes)));
        continue;
      }
      if (!zipped.insert(name).second) {
        scope.diagnostics.error(mark, "RB024", fmt::format("axis `{}` is zipped twice", name));
      }
      if (first == nullptr) first = axis;
      if (axis->values.size() != first->values.size()) {
        scope.diagnostics.error(mark, "RB024",
                                fmt::format("zipped axes differ in length: `{}` has {} values, `{}` has {}",
                                            first->name, first->values.size(), axis->name, axis->values.size()));
      }
    }
  }
}

void check_reference(const MatrixSpec& matrix, const YamlNode& reference, Scope& scope) {
  for (const YamlEntry& entry : reference.entries) {
    const auto wanted = matrix.reference.find(entry.key);
    if (wanted == matrix.reference.end()) continue;
    const Axis* axis = find_axis(matrix, entry.key);
    if (axis == nullptr) {
      scope.diagnostics.error(entry.key_mark, "RB024",
                              fmt::format("reference names `{}`, which is no axis of this matrix", entry.key),
                              did_you_mean(entry.key, names_of(matrix.axes)));
    } else if (std::find(axis->values.begin(), axis->values.end(), wanted->second) == axis->values.end()) {
      scope.diagnostics.error(entry.value.mark, "RB024",
                              fmt::format("reference `{}` is no value of axis `{}`", wanted->second, axis->name),
                              did_you_mean(wanted->second, axis->values));
    }
  }
}

}  // namespace

void read_axes(MatrixSpec& matrix, const YamlEntry& entry, Scope& scope) {
  matrix.axes_mark = entry.key_mark;
  if (!is_map_or_reported(entry.key, entry.value, scope)) return;
  for (const YamlEntry& axis : entry.value.entries) read_axis(matrix, axis, scope);
  if (entry.value.find("stack") == nullptr) {
    scope.diagnostics.error(entry.value.mark, "RB018", "required key `stack` is missing");
  }
}

void read_zip(MatrixSpec& matrix, const YamlEntry& entry, Scope& scope) {
  if (!is_list_or_reported(entry.key, entry.value, "[[stack, precision]]", scope)) return;
  for (const YamlNode& item : entry.value.items) {
    matrix.zip.push_back(read_names(entry.key, item, scope));
    if (item.is_sequence() && item.items.size() < 2) {
      scope.diagnostics.error(item.mark, "RB023", "a zip group needs at least two axes");
    }
  }
}

void read_include(MatrixSpec& matrix, const YamlEntry& entry, Scope& scope) {
  if (!is_list_or_reported(entry.key, entry.value, "[{stack: NAME, device: cpu}]", scope)) return;
  for (const YamlNode& item : entry.value.items) {
    if (!is_map_or_reported(entry.key, item, scope)) continue;
    IncludeRule rule;
    rule.mark = item.mark;
    for (const YamlEntry& coordinate : item.entries) {
      if (!is_coordinate_name(coordinate.key)) {
        scope.diagnostics.error(coordinate.key_mark, "RB024",
                                fmt::format("include names the unknown axis `{}`", coordinate.key),
                                did_you_mean(coordinate.key, coordinate_names()));
      } else if (auto value = read_coordinate_value(coordinate.key, coordinate.value, scope)) {
        rule.coordinates[coordinate.key] = std::move(*value);
      }
    }
    for (const char* needed : {"stack", "device"}) {
      if (item.find(needed) != nullptr) continue;
      scope.diagnostics.error(item.mark, "RB018", fmt::format("required key `{}` is missing", needed));
    }
    matrix.include.push_back(std::move(rule));
  }
}

void read_reference(MatrixSpec& matrix, const YamlEntry& entry, Scope& scope) {
  matrix.reference_mark = entry.key_mark;
  if (!is_map_or_reported(entry.key, entry.value, scope)) return;
  if (entry.value.entries.empty()) scope.diagnostics.error(entry.value.mark, "RB018", "`reference` names no axis");
  for (const YamlEntry& coordinate : entry.value.entries) {
    if (!is_axis_name(coordinate.key)) {
      scope.diagnostics.error(coordinate.key_mark, "RB009", fmt::format("unknown axis `{}`", coordinate.key),
                              did_you_mean(coordinate.key, axis_names()));
    } else if (auto value = read_coordinate_value(coordinate.key, coordinate.value, scope)) {
      matrix.reference[coordinate.key] = std::move(*value);
    }
  }
}

void check_axis_uses(const MatrixSpec& matrix, const YamlNode& root, Scope& scope) {
  if (matrix.axes.empty()) return;
  if (const YamlNode* zip = root.find("zip")) check_zip(matrix, *zip, scope);
  if (const YamlNode* reference = root.find("reference")) check_reference(matrix, *reference, scope);
}

}  // namespace reprobench

#include "matrix/spec/coordinate.hpp"

#include <algorithm>

#include "matrix/contract/device/device_class.hpp"
#include "matrix/contract/knob.hpp"
#include "matrix/spec/scalar.hpp"

namespace reprobench {
namespace {

std::vector<std::string> with_knobs(std::vector<std::string> names) {
  for (const Knob& knob : knobs()) names.emplace_back(knob.name);
  return names;
}

std::optional<std::string> read_device(const YamlNode& node, Scope& scope) {
  auto text = read_text("device", node, scope);
  if (!text || DeviceClass::parse(*text)) return text;
  scope.diagnostics.error(node.mark, "RB019",
                          fmt::format("`device` must be cpu or a GPU class such as sm_90, got {}", shown(node)));
  return std::nullopt;
}

std::optional<std::string> read_amount(const Knob& knob, const std::string& name, const YamlNode& node, Scope& scope) {
  auto text = read_text(name, node, scope);
  if (!text || (accepts(knob, *text) && !node.quoted)) return text;
  scope.diagnostics.error(node.mark, "RB019",
                          fmt::format("`{}` must be a number from 0 on such as 0.5, got {}", name, shown(node)));
  return std::nullopt;
}

// A knob without a list of values takes a number, as a number and not as text: mostly any positive integer.
std::optional<std::string> read_knob_value(const Knob& knob, const YamlNode& node, Scope& scope) {
  const std::string name(knob.name);
  if (!knob.values.empty()) {
    return read_word(name, node, scope, {knob.values.begin(), knob.values.end()});
  }
  if (knob.numbers == KnobNumbers::amounts) return read_amount(knob, name, node, scope);
  const std::int64_t least = knob.numbers == KnobNumbers::from_zero ? 0 : 1;
  const auto value = read_integer(name, node, scope, least, 999'999'999);
  return value ? std::optional(std::to_string(*value)) : std::nullopt;
}

}  // namespace

const std::vector<std::string>& axis_names() {
  static const std::vector<std::string> kNames = with_knobs({"stack", "device", "world_size"});
  return kNames;
}

const std::vector<std::string>& coordinate_names() {
  static const std::vector<std::string> kNames = with_knobs({"suite", "workload", "stack", "device", "world_size"});
  return kNames;
}

bool is_coordinate_name(std::string_view name) {
  return std::find(coordinate_names().begin(), coordinate_names().end(), name) != coordinate_names().end();
}

std::optional<std::string> read_coordinate_value(const std::string& name, const YamlNode& node, Scope& scope) {
  if (const Knob* knob = find_knob(name)) return read_knob_value(*knob, node, scope);
  if (name == "device") return read_device(node, scope);
  if (name != "world_size") return read_name(name, node, scope);
  const auto value = read_integer(name, node, scope, 1, kMaxWorldSize);
  return value ? std::optional(std::to_string(*value)) : std::nullopt;
}

}  // namespace reprobench

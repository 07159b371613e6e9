#include "matrix/lint/value_standing.hpp"

#include <algorithm>

namespace reprobench {
namespace {

bool is_ignored(std::string_view path, const LintSituation& situation) {
  return std::ranges::any_of(situation.ignored, [&](const std::string& ignored) {
    return path == ignored || (path.starts_with(ignored) && path[ignored.size()] == '.');
  });
}

std::string_view section_around(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

}  // namespace

bool parent_answers(std::string_view path) {
  for (std::string_view section = section_around(path); !section.empty(); section = section_around(section)) {
    const ConfigKey* key = find_config_key(section);
    if (key == nullptr || key->is_open) return true;
  }
  return false;
}

bool has_type(const JsonNode& node, ValueType type) {
  switch (type) {
    case ValueType::flag:
      return node.is(JsonNode::Kind::flag);
    case ValueType::integer:
    case ValueType::number:
      return node.is(JsonNode::Kind::number);
    case ValueType::text:
      return node.is(JsonNode::Kind::text);
    case ValueType::list:
      return node.is(JsonNode::Kind::list);
    case ValueType::section:
      break;
  }
  return node.is(JsonNode::Kind::object);
}

ValueStanding standing_of(std::string_view path, const JsonNode& value, const LintSituation& situation) {
  if (is_ignored(path, situation)) return ValueStanding::ignored;
  const ConfigKey* key = find_config_key(path);
  if (value.is_auto() && (key != nullptr || parent_answers(path))) return ValueStanding::automatic;
  if (key == nullptr) {
    for (std::string_view section = section_around(path); !section.empty(); section = section_around(section)) {
      const ConfigKey* around = find_config_key(section);
      if (around != nullptr) return around->is_open ? ValueStanding::unmodelled : ValueStanding::unknown;
    }
    return ValueStanding::unknown;
  }
  const bool old_switch = path == kZero && value.is(JsonNode::Kind::flag);
  if (!value.is(JsonNode::Kind::null) && !old_switch && !has_type(value, key->type)) return ValueStanding::malformed;
  return old_switch || key->standing == Standing::judged ? ValueStanding::judged : ValueStanding::unmodelled;
}

LintCoverage coverage_of_values(const DeepSpeedConfig& config, const LintSituation& situation) {
  LintCoverage coverage;
  config.walk([&](const std::string& path, const JsonMember& member) {
    const bool is_section = member.value.is(JsonNode::Kind::object);
    const ConfigKey* key = find_config_key(path);
    if (is_section && (key == nullptr || key->type == ValueType::section)) return;
    ++coverage.values;
    switch (standing_of(path, member.value, situation)) {
      case ValueStanding::judged:
        ++coverage.judged;
        break;
      case ValueStanding::automatic:
        ++coverage.automatic;
        break;
      case ValueStanding::unmodelled:
        ++coverage.unmodelled;
        break;
      case ValueStanding::unknown:
        ++coverage.unknown;
        break;
      case ValueStanding::ignored:
        ++coverage.ignored;
        break;
      case ValueStanding::malformed:
        ++coverage.malformed;
        break;
    }
  });
  return coverage;
}

}  // namespace reprobench

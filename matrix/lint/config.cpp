#include "matrix/lint/config.hpp"

#include <algorithm>
#include <cctype>

#include "matrix/spec/scalar.hpp"

namespace reprobench {
namespace {

// The member a path leads to, by way of objects; null if there is none.
const JsonMember* member_at(const JsonNode& root, std::string_view path) {
  const JsonNode* node = &root;
  const JsonMember* member = nullptr;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    member = node->find(path.substr(0, dot));
    if (member == nullptr) return nullptr;
    node = &member->value;
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return member;
}

// The text of a default if it is of this kind; a default is JSON.
std::string_view default_of(std::string_view path) {
  const ConfigKey* key = find_config_key(path);
  return key == nullptr ? std::string_view() : key->default_value;
}

// Dots separate keys, so a key that holds one, or is empty, must not look like a path of known ones.
std::string path_segment(std::string key) {
  if (key.empty()) return "\"\"";
  std::ranges::replace(key, '.', '/');
  return key;
}

void walk_members(const JsonNode& node, const std::string& section,
                  const std::function<void(const std::string&, const JsonMember&)>& visit) {
  for (const JsonMember& member : node.members) {
    const std::string path = joined_path(section, path_segment(member.key));
    visit(path, member);
    walk_members(member.value, path, visit);
  }
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// `device` of a section, or what its deprecated switch asks for.
std::optional<std::string> offload_device(const DeepSpeedConfig& config, std::string_view section,
                                          std::initializer_list<std::string_view> old_switches,
                                          std::string& mark_path) {
  mark_path = std::string(section) + ".device";
  if (config.has(section)) {
    const auto device = config.text(mark_path);
    const bool is_known = device == "none" || device == "cpu" || device == "nvme";
    return is_known ? device : std::nullopt;
  }
  for (const std::string_view name : old_switches) {
    const std::string path = joined_path(kZero, name);
    if (!config.has(path)) continue;
    mark_path = path;
    const auto is_on = config.flag(path);
    if (!is_on) return std::nullopt;
    return *is_on ? "cpu" : "none";
  }
  return "none";
}

// "zero_optimization": true is stage 1 (runtime/zero/config.py, read_zero_config_deprecated).
std::optional<int> stage_of(const DeepSpeedConfig& config) {
  const JsonNode* section = config.find(kZero);
  if (section != nullptr && section->is(JsonNode::Kind::flag)) return section->text == "true" ? 1 : 0;
  const auto stage = config.integer(kStage);
  if (!stage || *stage < 0 || *stage > 3) return std::nullopt;
  return static_cast<int>(*stage);
}

}  // namespace

std::string joined_path(std::string_view section, std::string_view name) {
  return section.empty() ? std::string(name) : std::string(section) + "." + std::string(name);
}

const JsonNode* DeepSpeedConfig::find(std::string_view path) const {
  const JsonMember* member = member_at(root_, path);
  return member == nullptr || member->value.is(JsonNode::Kind::null) ? nullptr : &member->value;
}

bool DeepSpeedConfig::is_auto(std::string_view path) const {
  const JsonNode* node = find(path);
  return node != nullptr && node->is_auto();
}

Mark DeepSpeedConfig::mark(std::string_view path) const {
  for (std::string_view at = path; !at.empty();) {
    if (const JsonMember* member = member_at(root_, at)) return member->key_mark;
    const std::size_t dot = at.rfind('.');
    at = dot == std::string_view::npos ? std::string_view() : at.substr(0, dot);
  }
  return root_.mark;
}

std::optional<bool> DeepSpeedConfig::flag(std::string_view path) const {
  const JsonNode* node = find(path);
  if (node == nullptr) {
    const std::string_view value = default_of(path);
    return value.empty() ? std::nullopt : std::optional(value == "true");
  }
  return node->is(JsonNode::Kind::flag) ? std::optional(node->text == "true") : std::nullopt;
}

std::optional<double> DeepSpeedConfig::number(std::string_view path) const {
  const JsonNode* node = find(path);
  if (node == nullptr) return parse_number(default_of(path));
  return node->is(JsonNode::Kind::number) ? parse_number(node->text) : std::nullopt;
}

std::optional<std::int64_t> DeepSpeedConfig::integer(std::string_view path) const {
  const JsonNode* node = find(path);
  if (node == nullptr) {
    const std::string_view value = default_of(path);
    return value.empty() ? std::nullopt : exact_integer(value);
  }
  return node->is(JsonNode::Kind::number) ? exact_integer(node->text) : std::nullopt;
}

std::optional<std::string> DeepSpeedConfig::text(std::string_view path) const {
  const JsonNode* node = find(path);
  if (node == nullptr) {
    const std::string_view value = default_of(path);
    if (value.size() < 2) return std::nullopt;
    return std::string(value.substr(1, value.size() - 2));
  }
  if (!node->is(JsonNode::Kind::text) || node->is_auto()) return std::nullopt;
  return node->text;
}

std::string DeepSpeedConfig::written(std::string_view path) const {
  const JsonNode* node = find(path);
  return node == nullptr ? std::string(default_of(path)) : shown(*node);
}

void DeepSpeedConfig::walk(const std::function<void(const std::string&, const JsonMember&)>& visit) const {
  walk_members(root_, "", visit);
}

DeepSpeedSettings settings_of(const DeepSpeedConfig& config) {
  DeepSpeedSettings settings;
  settings.stage = stage_of(config);
  settings.fp16 = config.flag("fp16.enabled");
  settings.bf16_section = !config.has("bf16") && config.has("bfloat16") ? "bfloat16" : "bf16";
  settings.bf16 = config.flag(settings.bf16_section + ".enabled");
  settings.amp = config.flag("amp.enabled");
  settings.offload_optimizer = offload_device(config, kOffloadOptimizer, {"cpu_offload"}, settings.optimizer_mark_path);
  settings.offload_param =
      offload_device(config, kOffloadParam, {"cpu_offload_param", "cpu_offload_params"}, settings.param_mark_path);
  settings.optimizer = lower(config.text("optimizer.type").value_or(""));
  return settings;
}

}  // namespace reprobench

#include "matrix/spec/yaml_node.hpp"

namespace reprobench {

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

std::string shown(const YamlNode& node) {
  constexpr std::size_t kLongestShown = 64;
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::sequence:
      return "a list";
    case YamlNode::Kind::map:
      return "a map";
    case YamlNode::Kind::scalar:
      break;
  }
  const std::string text = node.text.size() <= kLongestShown ? node.text : node.text.substr(0, kLongestShown) + "...";
  return node.quoted ? "string \"" + text + "\"" : "`" + text + "`";
}

}  // namespace reprobench

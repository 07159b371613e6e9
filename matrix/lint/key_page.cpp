#include <fmt/format.h>

#include "matrix/lint/config_keys.hpp"

namespace reprobench {
namespace {

const char* type_name(ValueType type) {
  switch (type) {
    case ValueType::flag:
      return "true, false";
    case ValueType::integer:
      return "whole number";
    case ValueType::number:
      return "number";
    case ValueType::text:
      return "text";
    case ValueType::list:
      return "list";
    case ValueType::section:
      break;
  }
  return "section";
}

// "whole number, 0 to 3", "text: none cpu nvme", "section, open".
std::string value_text(const ConfigKey& key) {
  const bool has_least = key.least > -std::numeric_limits<double>::infinity();
  const bool has_most = key.most < std::numeric_limits<double>::infinity();
  std::string text = type_name(key.type);
  if (!key.words.empty()) text += fmt::format(": {}", key.words);
  if (has_least) text += fmt::format(", {:g} {}", key.least, has_most ? fmt::format("to {:g}", key.most) : "or more");
  if (key.is_open) text += ", open";
  return text;
}

}  // namespace

std::string key_page() {
  std::string page =
      "| key | value | default | judged | \"auto\" is filled | instead |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const ConfigKey& key : config_keys()) {
    page += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", key.path, value_text(key), key.default_value,
                        key.standing == Standing::judged ? "yes" : "", key.auto_filled ? "yes" : "", key.replaced_by);
  }
  return page;
}

}  // namespace reprobench

#include "matrix/spec/inject_reader.hpp"

#include <algorithm>
#include <limits>

#include "matrix/spec/coordinate.hpp"
#include "matrix/spec/scalar.hpp"
#include "matrix/spec/selection_reader.hpp"

namespace reprobench {
namespace {

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const InjectionKind& kind : injection_kinds()) names.emplace_back(kind.name);
  return names;
}

bool names_parameter(const std::string& kind_name) {
  const auto kinds = injection_kinds();
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const InjectionKind& kind) { return kind.name == kind_name && kind.names_parameter; });
}

constexpr Field<InjectRule> kInjectFields[] = {
    {"where", kOptional, "The cells.",
     [](InjectRule& rule, const YamlEntry& entry, Scope& scope) { rule.where = read_selector(entry.value, scope); }},
    {"repeat", kOptional, "The process, from 0.",
     [](InjectRule& rule, const YamlEntry& entry, Scope& scope) {
       if (const auto value = read_integer(entry.key, entry.value, scope, 0, kMostRepeats - 1)) {
         rule.repeat = static_cast<int>(*value);
       }
     }},
    {"rank", kOptional, "Which of the attempt's ranks, from 0.",
     [](InjectRule& rule, const YamlEntry& entry, Scope& scope) {
       if (const auto value = read_integer(entry.key, entry.value, scope, 0, kMaxWorldSize - 1)) {
         rule.injection.rank = static_cast<int>(*value);
       }
     }},
    {"kind", kRequired, "`reprobench list faults`.",
     [](InjectRule& rule, const YamlEntry& entry, Scope& scope) {
       assign(rule.injection.kind, read_word(entry.key, entry.value, scope, kind_names()));
     }},
    {"step", kRequired, "From 1.",
     [](InjectRule& rule, const YamlEntry& entry, Scope& scope) {
       assign(rule.injection.step, read_integer(entry.key, entry.value, scope, 1, kMostSteps));
     }},
    {"tensor", kOptional, "A parameter, or of a probe an operation.",
     [](InjectRule& rule, const YamlEntry& entry, Scope& scope) {
       assign(rule.injection.tensor, read_name(entry.key, entry.value, scope));
     }},
    {"element", kOptional, "Of the tensor, from 0.",
     [](InjectRule& rule, const YamlEntry& entry, Scope& scope) {
       assign(rule.injection.element,
              read_integer(entry.key, entry.value, scope, 0, std::numeric_limits<std::int64_t>::max()));
     }},
};

InjectRule read_rule(const YamlNode& map, Scope& scope) {
  InjectRule rule;
  rule.mark = map.mark;
  read_fields<InjectRule>(rule, map, kInjectFields, scope);
  if (names_parameter(rule.injection.kind) && map.find("tensor") == nullptr) {
    scope.diagnostics.error(map.mark, "RB018", "required key `tensor` is missing");
  }
  return rule;
}

bool is_inject_key(const std::string& key) {
  for (const auto& field : kInjectFields) {
    if (key == field.key) return true;
  }
  return false;
}

// "a=b,c=d" as the map a file would hold: coordinates go under `where`.
YamlNode option_as_map(const std::string& text, Scope& scope) {
  YamlNode map;
  map.kind = YamlNode::Kind::map;
  map.mark = {"--inject", 1, 1};
  YamlNode where = map;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::size_t equals = text.find('=', at);
    const Mark mark{"--inject", 1, static_cast<int>(at) + 1};
    if (equals == std::string::npos || equals > end) {
      scope.diagnostics.error(
          mark, "RB019",
          fmt::format("expected NAME=VALUE, got `{}`", text.substr(at, std::min(end - at, std::size_t{64}))));
    } else {
      YamlNode value;
      value.kind = YamlNode::Kind::scalar;
      value.text = text.substr(equals + 1, end - equals - 1);
      value.mark = {"--inject", 1, static_cast<int>(equals) + 2};
      const std::string key = text.substr(at, equals - at);
      YamlNode& target = is_coordinate_name(key) && !is_inject_key(key) ? where : map;
      if (target.find(key) != nullptr)
        scope.diagnostics.error(mark, "RB008", fmt::format("key `{}` appears twice", key));
      target.entries.push_back({key, mark, std::move(value)});
    }
    at = end + 1;
  }
  if (!where.entries.empty()) map.entries.push_back({"where", where.mark, std::move(where)});
  return map;
}

}  // namespace

void read_inject(MatrixSpec& matrix, const YamlEntry& entry, Scope& scope) {
  if (!is_list_or_reported(entry.key, entry.value, "[{kind: weight_ulp, step: 20, tensor: fc1.weight}]", scope)) return;
  for (const YamlNode& item : entry.value.items) {
    if (is_map_or_reported(entry.key, item, scope)) matrix.inject.push_back(read_rule(item, scope));
  }
}

InjectRule parse_inject_option(const std::string& text) {
  Diagnostics diagnostics;
  Scope scope{diagnostics};
  const YamlNode map = option_as_map(text, scope);
  InjectRule rule = read_rule(map, scope);
  diagnostics.throw_if_any();
  return rule;
}

std::vector<KeyTable> fault_keys() {
  return {key_table<InjectRule>("An entry of `inject`, or of `--inject`", kInjectFields)};
}

}  // namespace reprobench

// Keys themselves: repeated, unknown, deprecated, of another type, out of range, "auto".
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/lint/rule.hpp"
#include "matrix/lint/value_standing.hpp"
#include "matrix/spec/scalar.hpp"

namespace reprobench {
namespace {

std::string_view section_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string_view name_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

const char* type_words(ValueType type) {
  switch (type) {
    case ValueType::flag:
      return "true or false";
    case ValueType::integer:
      return "a whole number";
    case ValueType::number:
      return "a number";
    case ValueType::text:
      return "text in quotes";
    case ValueType::list:
      return "a list";
    case ValueType::section:
      break;
  }
  return "an object";
}

// Calls `visit` for every known key that has a value of its own: null is absence, "auto" is judged apart.
template <class Visit>
void for_known_values(const LintSubject& subject, Visit visit) {
  subject.config.walk([&](const std::string& path, const JsonMember& member) {
    const ConfigKey* key = find_config_key(path);
    if (key == nullptr || member.value.is(JsonNode::Kind::null) || member.value.is_auto()) return;
    visit(path, *key, member);
  });
}

void repeated_keys_in(const JsonNode& node, const std::string& section, LintFindings& findings) {
  std::map<std::string, Mark> first;
  for (const JsonMember& member : node.members) {
    const std::string path = joined_path(section, member.key);
    const auto [known, is_new] = first.emplace(member.key, member.key_mark);
    if (!is_new) {
      findings.add(member.key_mark, fmt::format("key `{}` appears twice; first at {}:{}", path, known->second.line,
                                                known->second.column));
    }
    repeated_keys_in(member.value, path, findings);
  }
}

void repeated_key(const LintSubject& subject, LintFindings& findings) {
  repeated_keys_in(subject.config.root(), "", findings);
}

struct UnknownName {
  std::string path;
  const JsonMember* member;
  std::string nearest;
  bool is_certain;  // DeepSpeed refuses it, or a known name is near
};

std::vector<UnknownName> unknown_names(const LintSubject& subject) {
  std::vector<UnknownName> unknown;
  subject.config.walk([&](const std::string& path, const JsonMember& member) {
    if (find_config_key(path) != nullptr || parent_answers(path)) return;
    if (standing_of(path, member.value, subject.situation) == ValueStanding::ignored) return;
    const std::string_view section = section_of(path);
    const std::string nearest = nearest_name(name_of(path), names_in(section));
    unknown.push_back({path, &member, nearest, !section.empty() || !nearest.empty()});
  });
  return unknown;
}

void unknown_key(const LintSubject& subject, LintFindings& findings) {
  for (const UnknownName& name : unknown_names(subject)) {
    if (!name.is_certain) continue;
    const std::string hint = name.nearest.empty() ? "" : fmt::format("; did you mean `{}`?", name.nearest);
    findings.add(name.member->key_mark, fmt::format("unknown key `{}`{}", name.path, hint));
  }
}

void unknown_top_level_key(const LintSubject& subject, LintFindings& findings) {
  for (const UnknownName& name : unknown_names(subject)) {
    if (name.is_certain) continue;
    findings.add(
        name.member->key_mark,
        fmt::format("unknown key `{}`: DeepSpeed reads over it without a word, and nothing here judges it", name.path));
  }
}

// One finding for each top-level section, so that a long profiler section is one line.
void unmodelled_key(const LintSubject& subject, LintFindings& findings) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> names;
  std::map<std::string, Mark> marks;
  subject.config.walk([&](const std::string& path, const JsonMember& member) {
    if (member.value.is(JsonNode::Kind::object)) return;
    if (standing_of(path, member.value, subject.situation) != ValueStanding::unmodelled) return;
    const std::string group = path.substr(0, path.find('.'));
    if (names[group].empty()) {
      order.push_back(group);
      marks[group] = member.key_mark;
    }
    names[group].push_back(path == group ? path : path.substr(group.size() + 1));
  });
  for (const std::string& group : order) {
    const auto& listed = names[group];
    const bool is_alone = listed.size() == 1 && listed.front() == group;
    findings.add(marks[group], is_alone ? fmt::format("`{}` is not judged", group)
                                        : fmt::format("not judged in `{}`: {}", group, fmt::join(listed, ", ")));
  }
}

void deprecated_key(const LintSubject& subject, LintFindings& findings) {
  for_known_values(subject, [&](const std::string& path, const ConfigKey& key, const JsonMember& member) {
    if (key.replaced_by.empty()) return;
    findings.add(member.key_mark, fmt::format("`{}` is deprecated", path), fmt::format("write {}", key.replaced_by));
  });
  const JsonMember* zero = subject.config.root().find(kZero);
  if (zero != nullptr && zero->value.is(JsonNode::Kind::flag)) {
    const int stage = zero->value.text == "true" ? 1 : 0;
    findings.add(zero->key_mark,
                 fmt::format("`{}: {}` is deprecated; it means stage {}", kZero, zero->value.text, stage),
                 fmt::format("write \"{}\": {{\"stage\": {}}}", kZero, stage));
  }
}

void wrong_type(const LintSubject& subject, LintFindings& findings) {
  for_known_values(subject, [&](const std::string& path, const ConfigKey& key, const JsonMember& member) {
    const bool legacy_switch = path == kZero && member.value.is(JsonNode::Kind::flag);
    if (has_type(member.value, key.type) || legacy_switch) return;
    const bool is_quoted_number = member.value.is(JsonNode::Kind::text) && parse_number(member.value.text).has_value();
    findings.add(member.value.mark, fmt::format("`{}` must be {}, got {}{}", path, type_words(key.type),
                                                shown(member.value), is_quoted_number ? ", a number in quotes" : ""));
  });
}

void out_of_range(const LintSubject& subject, LintFindings& findings) {
  for_known_values(subject, [&](const std::string& path, const ConfigKey& key, const JsonMember& member) {
    const JsonNode& value = member.value;
    if (path == kStage && value.is(JsonNode::Kind::number)) {
      const auto stage = exact_integer(value.text);
      if (stage && (*stage < 0 || *stage > 3)) {
        findings.add(value.mark, fmt::format("there is no ZeRO stage {}; stages are 0, 1, 2 and 3", shown(value)));
      }
      return;
    }
    if (!key.words.empty() && value.is(JsonNode::Kind::text)) {
      const std::string listed = fmt::format(" {} ", key.words);
      if (listed.find(fmt::format(" {} ", value.text)) != std::string::npos) return;
      findings.add(value.mark, fmt::format("`{}` must be one of {}, got {}", path, key.words, shown(value)));
      return;
    }
    const auto number = value.is(JsonNode::Kind::number) ? parse_number(value.text) : std::nullopt;
    if (!number) return;
    if (*number < key.least) {
      findings.add(value.mark, fmt::format("`{}` must be at least {:g}, got {}", path, key.least, shown(value)));
    } else if (*number > key.most) {
      findings.add(value.mark, fmt::format("`{}` must be at most {:g}, got {}", path, key.most, shown(value)));
    }
  });
}

void inexact_integer(const LintSubject& subject, LintFindings& findings) {
  for_known_values(subject, [&](const std::string& path, const ConfigKey& key, const JsonMember& member) {
    if (key.type != ValueType::integer || !member.value.is(JsonNode::Kind::number)) return;
    if (exact_integer(member.value.text)) return;
    findings.add(member.value.mark,
                 fmt::format("`{}` must be a whole number of 64 bits; {} is none", path, shown(member.value)));
  });
}

struct AutoValue {
  std::string path;
  const JsonMember* member;
  bool is_filled;  // by Hugging Face's integration
};

std::vector<AutoValue> auto_values(const LintSubject& subject) {
  std::vector<AutoValue> values;
  subject.config.walk([&](const std::string& path, const JsonMember& member) {
    if (!member.value.is_auto()) return;
    const ConfigKey* key = find_config_key(path);
    values.push_back({path, &member, key != nullptr && key->auto_filled});
  });
  return values;
}

void filled_auto(const LintSubject& subject, LintFindings& findings) {
  std::vector<std::string> names;
  Mark mark;
  for (const AutoValue& value : auto_values(subject)) {
    if (!value.is_filled) continue;
    if (names.empty()) mark = value.member->key_mark;
    names.push_back(value.path);
  }
  if (names.empty()) return;
  findings.add(mark,
               fmt::format("{} \"auto\", {} here: {}",
                           names.size() == 1 ? "1 value is" : fmt::format("{} values are", names.size()),
                           names.size() == 1 ? "which is not judged" : "which are not judged", fmt::join(names, ", ")));
}

void unfilled_auto(const LintSubject& subject, LintFindings& findings) {
  for (const AutoValue& value : auto_values(subject)) {
    const ConfigKey* key = find_config_key(value.path);
    if (value.is_filled || (key == nullptr && !parent_answers(value.path))) continue;
    const bool at_top = value.path.find('.') == std::string::npos;
    const std::string what =
        at_top ? "stays the word \"auto\""
        : key == nullptr || key->default_value.empty()
            ? "is dropped without a word"
            : fmt::format("is dropped without a word, and the default {} holds", key->default_value);
    findings.add(value.member->value.mark, fmt::format("nothing fills \"auto\" of `{}`; it {}", value.path, what));
  }
}

// clang-format off
constexpr LintRule kKeyRules[] = {
    {"DS001", Severity::error, "a key appears twice in one object",
     "keep one: DeepSpeed stops at a repeated key, json.load silently takes the last",
     "DeepSpeed runtime/config_utils.py, dict_raise_error_on_duplicate_keys", &repeated_key},
    {"DS002", Severity::error, "an unknown key in a section, or one that is nearly a known one",
     "correct or remove it: sections with an unknown key are refused, one at the top level is never read",
     "DeepSpeed runtime/config_utils.py, DeepSpeedConfigModel forbids extra keys", &unknown_key},
    {"DS003", Severity::warning, "an unknown key at the top level",
     "remove it, or answer for it with --ignore KEY", "DeepSpeed runtime/config.py reads known names only",
     &unknown_top_level_key},
    {"DS004", Severity::note, "known to DeepSpeed, not judged here",
     "check it by hand, or answer for it with --ignore KEY", "", &unmodelled_key},
    {"DS005", Severity::warning, "a deprecated key", "write its replacement",
     "DeepSpeed runtime/zero/config.py", &deprecated_key},
    {"DS006", Severity::error, "a value of another type", "write the value in the type the key has",
     "DeepSpeed runtime/config.py and runtime/zero/config.py", &wrong_type},
    {"DS007", Severity::error, "a value out of range, or none of the words a key has",
     "choose one that DeepSpeed accepts", "DeepSpeed runtime/zero/config.py, offload_config.py, precision_config.py",
     &out_of_range},
    {"DS008", Severity::error, "a number where a whole number is needed that is not exactly one",
     "write a whole number; 5e8 is one, 1.5 is none", "", &inexact_integer},
    {"DS009", Severity::note, "\"auto\" where Hugging Face's integration fills in a value",
     "without the Trainer or Accelerate write values: DeepSpeed alone stops at \"auto\" at the top level and drops it silently in sections",
     "Transformers integrations/deepspeed.py; DeepSpeed runtime/config_utils.py", &filled_auto},
    {"DS010", Severity::error, "\"auto\" where nobody fills in a value", "write a value, or leave the key out",
     "Transformers integrations/deepspeed.py; DeepSpeed runtime/config_utils.py", &unfilled_auto},
};
// clang-format on

}  // namespace

std::span<const LintRule> key_rules() { return kKeyRules; }

}  // namespace reprobench

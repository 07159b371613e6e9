#include "matrix/plan/stack_question.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/base/usage_error.hpp"
#include "matrix/contract/device/device_class.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

std::vector<std::string> names_of(std::span<const ClaimableComponent> components) {
  std::vector<std::string> names;
  for (const ClaimableComponent& component : components) names.emplace_back(component.name);
  return names;
}

// "cu128"
bool is_variant(const std::string& text) {
  return text.starts_with("cu") && text.size() >= 5 && text.size() <= 6 && whole_version(text.substr(2));
}

bool is_version_of(const std::string& name, const std::string& version) {
  const auto channels = torch_channels();
  if (name == "channel") return std::ranges::find(channels, version) != channels.end();
  if (name == "abi") return version == "0" || version == "1";
  if (name == "cuda" && is_variant(version)) return true;
  if (name == "sm" && DeviceClass::parse(version)) return true;
  // NVIDIA's containers call theirs 2.9.0a0+145a3a7bda.nv25.10.
  if (name == "torch" && version.find(".nv") != std::string::npos) return true;
  return whole_version(version).has_value() && (name == "torch" || version.find('+') == std::string::npos);
}

const ClaimableComponent& component_named(const std::string& name) {
  const auto components = claimable_components();
  const auto found = std::ranges::find(components, name, &ClaimableComponent::name);
  if (found == components.end()) throw UsageError(unknown_name("component", plain_line(name), names_of(components)));
  return *found;
}

ShownDefect shown(const KnownDefect& defect) {
  return {defect.id,       defect.effect,           defect.operation,          defect.dtype,
          defect.sentence, defect.evidence.sources, defect.evidence.confidence};
}

}  // namespace

StackClaims parse_stack_question(const std::string& question) {
  StackClaims claims;
  std::istringstream words(question);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(fmt::format("`{}` is no NAME=VERSION, as in `torch=2.9 cuda=12.8`", plain_line(word)));
    }
    const bool is_least = word[equals - 1] == '>';
    const ClaimableComponent& component = component_named(word.substr(0, equals - (is_least ? 1 : 0)));
    const std::string name(component.name);
    std::string version = word.substr(equals + 1);
    if (version.ends_with(".x")) version.resize(version.size() - 2);
    if (!is_version_of(name, version)) {
      throw UsageError(fmt::format("`{}` is no {}; write it as {}", plain_line(version), name, component.example));
    }
    if (!claims.emplace(name, version).second) throw UsageError(fmt::format("`{}` is asked twice", name));
  }
  if (claims.empty()) throw UsageError("the question names no component; ask as in `torch=2.9 cuda=12.8`");
  return claims;
}

StackAnswer answer_stack_question(const StackClaims& claims, const CompatFacts& facts) {
  StackAnswer answer;
  answer.claims = claims;
  answer.findings = check_stack_claims(claims, facts);
  answer.overall = overall_of(answer.findings);
  const DefectsOfStack defects = known_defects_of_claims(claims, facts);
  for (const KnownDefect& defect : defects.apply) answer.defects.push_back(shown(defect));
  for (const KnownDefect& defect : defects.may_apply) answer.possible_defects.push_back(shown(defect));
  const auto resolve = [&](const auto& rows) {
    for (const auto& row : rows) {
      for (const std::string& key : row.sources) answer.sources[key] = facts.sources.at(key);
    }
  };
  resolve(answer.findings);
  resolve(answer.defects);
  resolve(answer.possible_defects);
  return answer;
}

}  // namespace reprobench

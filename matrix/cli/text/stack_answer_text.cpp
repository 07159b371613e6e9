#include "matrix/cli/text/stack_answer_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/cli/text/wrapped_text.hpp"
#include "matrix/contract/device/device_class.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kRuleColumn = 10;
constexpr std::size_t kTextColumn = 27;

Style style_of(Holds holds) {
  return holds == Holds::yes ? Style::green : holds == Holds::no ? Style::red : Style::yellow;
}

std::string indented(const std::string& text) {
  return fmt::format("{:{}}{}\n", "", kTextColumn, wrapped(text, kTextColumn, kTextColumn));
}

std::string evidence_text(const std::vector<std::string>& sources, const std::string& confidence) {
  return sources.empty() ? "" : indented(fmt::format("[{}: {}]", confidence, fmt::join(sources, " ")));
}

std::string finding_text(const ClaimFinding& finding, const Terminal& terminal) {
  std::string text = fmt::format(
      "{} {:<{}}{}\n",
      terminal.paint(fmt::format("{:<{}}", to_string(finding.holds), kRuleColumn - 1), style_of(finding.holds)),
      finding.rule, kTextColumn - kRuleColumn, wrapped(finding.sentence, kTextColumn, kTextColumn));
  if (!finding.instead.empty()) text += indented("instead: " + finding.instead);
  return text + evidence_text(finding.sources, finding.confidence);
}

std::string defect_text(const ShownDefect& defect) {
  return fmt::format("  {} ({}; {}{})\n", defect.id, to_string(defect.effect), defect.operation,
                     defect.dtype.empty() ? "" : ", " + defect.dtype) +
         indented(defect.sentence) + evidence_text(defect.sources, defect.confidence);
}

}  // namespace

std::string to_text(const StackAnswer& answer, const Terminal& terminal) {
  std::string asked;
  for (const ClaimableComponent& component : claimable_components()) {
    const auto claim = answer.claims.find(std::string(component.name));
    if (claim == answer.claims.end()) continue;
    asked += fmt::format("{}{} {}", asked.empty() ? "" : ", ", claim->first, claim->second);
  }
  std::string text = fmt::format("{}: {}\n", wrapped(asked, 0, 2), to_string(answer.overall));
  for (const ClaimFinding& finding : answer.findings) text += finding_text(finding, terminal);
  if (!answer.defects.empty()) text += "known defects\n";
  for (const ShownDefect& defect : answer.defects) text += defect_text(defect);
  if (!answer.possible_defects.empty()) text += "known defects of some stacks that the question can mean\n";
  for (const ShownDefect& defect : answer.possible_defects) text += defect_text(defect);
  if (!answer.sources.empty()) text += "sources (V read or measured, I inferred, R to be checked on a device)\n";
  for (const auto& [key, source] : answer.sources) {
    text += fmt::format("  {:<4} {}\n", key, wrapped(source, 7, 7));
  }
  return text;
}

std::vector<KnownDefect> defects_on(const StackSpec& stack, const std::set<std::string>& devices,
                                    const CompatFacts& facts, const std::map<std::string, std::string>& loaded) {
  const auto has = [](const std::vector<KnownDefect>& list, const KnownDefect& defect) {
    return std::ranges::find(list, defect.id, &KnownDefect::id) != list.end();
  };
  std::vector<KnownDefect> found;
  for (const std::string& device : devices) {
    StackClaims claims(stack.components.begin(), stack.components.end());
    claims.insert(loaded.begin(), loaded.end());
    const auto gpu = DeviceClass::parse(device);
    if (gpu && gpu->is_gpu()) claims["sm"] = gpu->compute_capability();
    for (const KnownDefect& defect : known_defects_of_claims(claims, facts).apply) {
      if ((device == "cpu" ? defect.on_cpu : defect.on_gpu) && !has(found, defect)) found.push_back(defect);
    }
  }
  return found;
}

std::string known_defects_text(const Plan& plan, const std::map<std::string, StackSpec>& stacks,
                               const CompatFacts& facts) {
  std::map<std::string, std::set<std::string>> devices;  // by stack
  for (const PlannedCell& planned : plan.cells) {
    const bool is_left_out = planned.skip && planned.skip->rule == kDeselected;
    if (!is_left_out) devices[planned.cell.request.stack].insert(planned.cell.request.device);
  }
  std::string text;
  for (const auto& [stack, of_stack] : devices) {
    std::vector<std::string> ids;
    for (const KnownDefect& defect : defects_on(stacks.at(stack), of_stack, facts)) ids.push_back(defect.id);
    if (!ids.empty()) text += fmt::format("known defects {}: {}\n", stack, fmt::join(ids, ", "));
  }
  return text;
}

}  // namespace reprobench

#include "matrix/cli/text/stack_answer_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/cli/text/text_table.hpp"
#include "matrix/contract/device/device_class.hpp"

namespace reprobench {
namespace {

Style style_of(Holds holds) {
  return holds == Holds::yes ? Style::green : holds == Holds::no ? Style::red : Style::yellow;
}

void add_evidence(TextTable& table, const std::vector<std::string>& sources, const std::string& confidence) {
  if (!sources.empty()) table.row("", "", fmt::format("[{}: {}]", confidence, fmt::join(sources, " ")));
}

void add_finding(TextTable& table, const ClaimFinding& finding, const Terminal& terminal) {
  table.row(terminal.paint(to_string(finding.holds), style_of(finding.holds)), finding.rule, finding.sentence);
  if (!finding.instead.empty()) table.row("", "", "instead: " + finding.instead);
  add_evidence(table, finding.sources, finding.confidence);
}

void add_defects(TextTable& table, const char* title, const std::vector<ShownDefect>& defects) {
  if (!defects.empty()) table.line("{}", title);
  for (const ShownDefect& defect : defects) {
    table.line("  {} ({}; {}{})", defect.id, to_string(defect.effect), defect.operation,
               defect.dtype.empty() ? "" : ", " + defect.dtype);
    table.row("", "", defect.sentence);
    add_evidence(table, defect.sources, defect.confidence);
  }
}

}  // namespace

std::string to_text(const StackAnswer& answer, const Terminal& terminal) {
  std::string asked;
  for (const ClaimableComponent& component : claimable_components()) {
    const auto claim = answer.claims.find(std::string(component.name));
    if (claim == answer.claims.end()) continue;
    asked += fmt::format("{}{} {}", asked.empty() ? "" : ", ", claim->first, claim->second);
  }
  TextTable table("<9 <16 ~");
  table.line("{}: {}", wrapped(asked, 0, 2), to_string(answer.overall));
  for (const ClaimFinding& finding : answer.findings) add_finding(table, finding, terminal);
  add_defects(table, "known defects", answer.defects);
  add_defects(table, "known defects of some stacks that the question can mean", answer.possible_defects);
  if (!answer.sources.empty()) table.line("sources (V read or measured, I inferred, R to be checked on a device)");
  TextTable sources("  <4 ~");
  for (const auto& [key, source] : answer.sources) sources.row(key, source);
  return table.text() + sources.text();
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

#include "matrix/cli/text/lint_text.hpp"

#include <fmt/format.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/text/wrapped_text.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kFindingIndent = 2;
constexpr std::size_t kFactIndent = 12;

Style style_of_severity(Severity severity) {
  switch (severity) {
    case Severity::error:
      return Style::red;
    case Severity::warning:
      return Style::yellow;
    case Severity::note:
      break;
  }
  return Style::cyan;
}

std::string finding_text(const LintFinding& finding, const std::string& file, const Terminal& terminal) {
  const std::string place = plain_line(
      finding.mark.line == 0 ? "environment" : to_string(Mark{file, finding.mark.line, finding.mark.column}));
  const std::string word = fmt::format("{}[{}]", to_string(finding.severity), finding.code);
  constexpr std::size_t kLongestHead = 56;  // after a longer one the sentence begins a line of its own
  const std::size_t head = columns(place) + 2 + word.size() + 2;
  const bool is_long = head > kLongestHead;
  std::string text = fmt::format("{}: {}:{}{}\n", place, terminal.paint(word, style_of_severity(finding.severity)),
                                 is_long ? "\n" + std::string(kFindingIndent, ' ') : " ",
                                 wrapped(plain_line(finding.what), is_long ? kFindingIndent : head, kFindingIndent));
  const std::string remedy = "do: " + plain_line(finding.remedy);
  text += fmt::format("{:<{}}{}\n", "", kFindingIndent, wrapped(remedy, kFindingIndent, kFindingIndent + 4));
  return text;
}

std::string need_text(const char* label, const MemoryNeed& need) {
  std::string head = fmt::format("at least {}, likely {}", gibibytes(need.least_bytes), gibibytes(need.likely_bytes));
  if (need.limit_bytes)
    head += fmt::format("; there is {} ({})", gibibytes(*need.limit_bytes), plain_line(need.limit_source));
  std::string text = fmt::format("{:<{}}{}\n", label, kFactIndent, wrapped(head, kFactIndent, kFactIndent));
  for (const auto* items : {&need.states, &need.buffers}) {
    for (const MemoryItem& item : *items) {
      const std::string line = fmt::format("{:>11}  {} = {}", gibibytes(item.bytes), item.name, item.formula);
      text += fmt::format("{:<{}}{}\n", "", kFactIndent, wrapped(line, kFactIndent, kFactIndent + 13));
    }
  }
  if (need.estimator_bytes > 0) {
    text += fmt::format("{:<{}}{:>11}  DeepSpeed's own estimate\n", "", kFactIndent, gibibytes(need.estimator_bytes));
  }
  return text;
}

std::string memory_text(const MemoryEstimate& memory) {
  if (!memory.unknown.empty()) return "";
  const std::string head = fmt::format(
      "{} parameters of {} B, {} rank{}, {} a host, stage {}; activations are not counted", memory.parameters,
      memory.element_bytes, memory.ranks, memory.ranks == 1 ? "" : "s", memory.ranks_per_host, memory.stage);
  std::string text = fmt::format("{:<{}}{}\n", "memory", kFactIndent, wrapped(head, kFactIndent, kFactIndent));
  text += need_text("  each GPU", memory.gpu);
  text += need_text("  each host", memory.host);
  if (memory.nvme_bytes > 0)
    text += fmt::format("{:<{}}{} a host\n", "  nvme", kFactIndent, gibibytes(memory.nvme_bytes));
  for (const std::string& sentence : memory.assumptions) {
    text +=
        fmt::format("{:<{}}{}\n", "  assumed", kFactIndent, wrapped(plain_line(sentence), kFactIndent, kFactIndent));
  }
  return text;
}

}  // namespace

std::string lint_text(const LintDocument& document, const Terminal& terminal) {
  std::string text;
  for (const LintFinding& finding : document.findings) text += finding_text(finding, document.file, terminal);
  for (const EnvironmentFact& fact : document.environment) {
    text +=
        fmt::format("{:<{}}{}\n", fact.name, kFactIndent, wrapped(plain_line(fact.value), kFactIndent, kFactIndent));
  }
  text += memory_text(document.memory);
  return text + wrapped(document.summary, 0, kFindingIndent) + "\n";
}

}  // namespace reprobench

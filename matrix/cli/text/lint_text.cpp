#include "matrix/cli/text/lint_text.hpp"

#include <fmt/format.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/text/text_table.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kFindingIndent = 2;
constexpr const char* kFact = "<11 ~";

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
  return text + TextTable("  <3 ~").row("do:", plain_line(finding.remedy)).text();
}

std::string need_text(const char* label, const MemoryNeed& need) {
  std::string head = fmt::format("at least {}, likely {}", gibibytes(need.least_bytes), gibibytes(need.likely_bytes));
  if (need.limit_bytes)
    head += fmt::format("; there is {} ({})", gibibytes(*need.limit_bytes), plain_line(need.limit_source));
  TextTable parts("<11 >11  ~");
  for (const auto* items : {&need.states, &need.buffers}) {
    for (const MemoryItem& item : *items) {
      parts.row("", gibibytes(item.bytes), fmt::format("{} = {}", item.name, item.formula));
    }
  }
  if (need.estimator_bytes > 0) parts.row("", gibibytes(need.estimator_bytes), "DeepSpeed's own estimate");
  return TextTable(kFact).row(label, head).text() + parts.text();
}

std::string memory_text(const MemoryEstimate& memory) {
  if (!memory.unknown.empty()) return "";
  const std::string head = fmt::format(
      "{} parameters of {} B, {} rank{}, {} a host, stage {}; activations are not counted", memory.parameters,
      memory.element_bytes, memory.ranks, memory.ranks == 1 ? "" : "s", memory.ranks_per_host, memory.stage);
  TextTable rest(kFact);
  if (memory.nvme_bytes > 0) rest.row("  nvme", gibibytes(memory.nvme_bytes) + " a host");
  for (const std::string& sentence : memory.assumptions) rest.row("  assumed", plain_line(sentence));
  return TextTable(kFact).row("memory", head).text() + need_text("  each GPU", memory.gpu) +
         need_text("  each host", memory.host) + rest.text();
}

}  // namespace

std::string lint_text(const LintDocument& document, const Terminal& terminal) {
  std::string text;
  for (const LintFinding& finding : document.findings) text += finding_text(finding, document.file, terminal);
  TextTable facts(kFact);
  for (const EnvironmentFact& fact : document.environment) facts.row(fact.name, plain_line(fact.value));
  return text + facts.text() + memory_text(document.memory) + wrapped(document.summary, 0, kFindingIndent) + "\n";
}

}  // namespace reprobench

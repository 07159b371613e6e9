#include "matrix/cli/text/bisect_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/cli/text/text_table.hpp"
#include "matrix/numerics/steps/implementation_changes.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kMostComponents = 12;

void add_change(TextTable& table, const StackChange& change) {
  if (!change.untestable.empty()) {
    table.say("untestable", "{}: the change may be in any of them", fmt::join(change.untestable, ", "));
  }
  if (!change.differing.empty()) table.row("other bits", first_names(change.differing));
  if (!change.judgement.empty()) table.row("judged", change.judgement);
  table.list("changed", change.components, change_text, kMostComponents, "more (--json has all)");
  if (!change.command.empty()) table.row("shown by", change.command);
}

// "memory.peak_anonymous x1.85 in torch-2.9.0-cu128, x1.00 in torch-2.8.0-cu128"
void add_head(TextTable& table, const BisectAnswer& answer, const std::optional<AskedCheck>& asked) {
  if (!asked || !answer.culprit || !answer.culprit->check) {
    table.line("{}", answer.subject);
    return;
  }
  const StackChange& change = *answer.culprit;
  table.line("{} {} in {}, {} in {}", name_of(*asked), value_text(change.check->after), change.after,
             value_text(change.check->before), change.before);
  table.row("of", asked_text(*asked));
}

void add_answer(TextTable& table, const BisectAnswer& answer, const BisectDocument& document) {
  add_head(table, answer, document.check);
  if (answer.culprit) {
    const bool is_good = answer.culprit->before_state == PointState::as_good;
    table.row(is_good ? "last good" : "not yet bad", answer.culprit->before);
    table.row("first bad", answer.culprit->after);
    if (!is_good) table.row("but", answer.culprit->before + " is not as the good end either");
    add_change(table, *answer.culprit);
  } else {
    table.row(to_string(answer.word), answer.problem);
  }
  for (const StackChange& other : answer.others) {
    table.say("also changes", "from {} to {} ({})", other.before, other.after, to_string(other.after_state));
    add_change(table, other);
  }
  for (const std::string& sentence : answer.returns) table.row("contradicted", sentence);
  table.say("evaluations", "{}, of {} stacks", answer.evaluations.size(), document.axis.size());
}

}  // namespace

std::string asked_text(const AskedCheck& asked) {
  return fmt::format("{} of run {}, {}", asked.slug, asked.run, asked.bound);
}

std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 4;
  const auto shown = static_cast<std::ptrdiff_t>(std::min(names.size(), kMost));
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + shown, ", "),
                     names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "");
}

std::string confidence_text(double margin, double confidence) {
  return fmt::format("slower by more than {:.3g} %: the answer holds with a confidence of {:.0f} %", margin * 100,
                     confidence * 100);
}

std::string evaluation_line(std::size_t number, const std::string& stack, const PointEvaluation& evaluation) {
  return fmt::format("  [{}] {}{}: {}{}{}\n", number, stack, evaluation.is_confirmation ? " again" : "",
                     to_string(evaluation.answer.state), evaluation.answer.why.empty() ? "" : ": ",
                     evaluation.answer.why);
}

std::string bisect_text(const BisectDocument& document) {
  TextTable table(kBisectLayout);
  for (const BisectAnswer& answer : document.answers) add_answer(table, answer, document);
  const bool has_answer =
      std::ranges::any_of(document.answers, [](const BisectAnswer& answer) { return answer.culprit.has_value(); });
  if (has_answer && document.margin && document.confidence) {
    table.line("{}", confidence_text(*document.margin, *document.confidence));
  }
  return table.text();
}

}  // namespace reprobench

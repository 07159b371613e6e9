#include "matrix/cli/text/bisect_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace reprobench {
namespace {

constexpr std::size_t kMostComponents = 12;

std::string components_text(const std::vector<SideDifference>& components) {
  std::string text;
  for (std::size_t i = 0; i < std::min(components.size(), kMostComponents); ++i) {
    text += fmt::format("  {:<13}{}: {}\n", i == 0 ? "changed" : "", components[i].what, sides_text(components[i]));
  }
  if (components.size() > kMostComponents) {
    text += fmt::format("  {:<13}and {} more (--json has all)\n", "", components.size() - kMostComponents);
  }
  return text;
}

std::string change_text(const StackChange& change) {
  std::string text;
  if (!change.untestable.empty()) {
    text +=
        fmt::format("  {:<13}{}: the change may be in any of them\n", "untestable", fmt::join(change.untestable, ", "));
  }
  if (!change.differing.empty()) {
    constexpr std::size_t kShown = 4;
    const std::size_t shown = std::min(change.differing.size(), kShown);
    text += fmt::format(
        "  {:<13}{}{}\n", "other bits",
        fmt::join(change.differing.begin(), change.differing.begin() + static_cast<long>(shown), ", "),
        change.differing.size() > shown ? fmt::format(" and {} more", change.differing.size() - shown) : "");
  }
  if (!change.judgement.empty()) text += fmt::format("  {:<13}{}\n", "judged", change.judgement);
  text += components_text(change.components);
  if (!change.command.empty()) text += fmt::format("  {:<13}{}\n", "shown by", change.command);
  return text;
}

// "memory.peak_anonymous x1.85 in torch-2.9.0-cu128, x1.00 in torch-2.8.0-cu128"
std::string first_line(const BisectAnswer& answer, const std::optional<AskedCheck>& asked) {
  if (!asked || !answer.culprit || !answer.culprit->check) return answer.subject + "\n";
  const StackChange& change = *answer.culprit;
  return fmt::format("{} {} in {}, {} in {}\n{}", name_of(*asked), value_text(change.check->after), change.after,
                     value_text(change.check->before), change.before, asked_text(*asked));
}

std::string answer_text(const BisectAnswer& answer, const BisectDocument& document) {
  std::string text = first_line(answer, document.check);
  if (answer.culprit) {
    const bool is_good = answer.culprit->before_state == PointState::as_good;
    text += fmt::format("  {:<13}{}\n  {:<13}{}\n", is_good ? "last good" : "not yet bad", answer.culprit->before,
                        "first bad", answer.culprit->after);
    if (!is_good) {
      text += fmt::format("  {:<13}{} is not as the good end either\n", "but", answer.culprit->before);
    }
    text += change_text(*answer.culprit);
  } else {
    text += fmt::format("  {:<13}{}\n", to_string(answer.word), answer.problem);
  }
  for (const StackChange& other : answer.others) {
    text += fmt::format("  {:<13}from {} to {} ({})\n", "also changes", other.before, other.after,
                        to_string(other.after_state));
    text += change_text(other);
  }
  for (const std::string& sentence : answer.returns) text += fmt::format("  {:<13}{}\n", "contradicted", sentence);
  return text +
         fmt::format("  {:<13}{}, of {} stacks\n", "evaluations", answer.evaluations.size(), document.axis.size());
}

}  // namespace

std::string asked_text(const AskedCheck& asked) {
  return fmt::format("  {:<13}{} of run {}, {}\n", "of", asked.slug, asked.run, asked.bound);
}

std::string evaluation_line(std::size_t number, const std::string& stack, const PointEvaluation& evaluation) {
  return fmt::format("  [{}] {}{}: {}{}{}\n", number, stack, evaluation.is_confirmation ? " again" : "",
                     to_string(evaluation.answer.state), evaluation.answer.why.empty() ? "" : ": ",
                     evaluation.answer.why);
}

std::string bisect_text(const BisectDocument& document) {
  std::string text;
  for (const BisectAnswer& answer : document.answers) text += answer_text(answer, document);
  const bool has_answer =
      std::ranges::any_of(document.answers, [](const BisectAnswer& answer) { return answer.culprit.has_value(); });
  if (has_answer && document.margin && document.confidence) {
    text += fmt::format("slower by more than {:.3g} %: the answer holds with a confidence of {:.0f} %\n",
                        *document.margin * 100, *document.confidence * 100);
  }
  return text;
}

}  // namespace reprobench

#include "matrix/cli/text/component_bisect_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/cli/text/bisect_text.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kMostDifferences = 12;
constexpr std::size_t kMostParts = 4;

std::string row(const std::string& what, const std::string& text) { return fmt::format("  {:<13}{}\n", what, text); }

std::string first_of(const std::vector<ComponentLibrary>& libraries) {
  if (libraries.empty()) return "none";
  return fmt::format("{} {}{}", libraries.front().name, libraries.front().identity.substr(0, 12),
                     libraries.size() > 1 ? fmt::format(" and {} more", libraries.size() - 1) : "");
}

std::string differences_text(const std::string& what, const std::vector<SideDifference>& differences, bool is_whole) {
  std::string text;
  const std::size_t shown = is_whole ? differences.size() : std::min(differences.size(), kMostDifferences);
  for (std::size_t i = 0; i < shown; ++i) {
    text += row(i == 0 ? what : "", fmt::format("{}: {}", differences[i].what, sides_text(differences[i])));
  }
  if (shown < differences.size())
    text += row("", fmt::format("and {} more (--json has all)", differences.size() - shown));
  return text;
}

std::string effect_text(const ComponentEffect& effect) {
  const std::string alone = effect.alone == PointState::as_good      ? "of no effect alone"
                            : effect.alone == PointState::as_bad     ? "alone"
                            : effect.alone == PointState::untestable ? "untestable alone"
                                                                     : "another change alone";
  return fmt::format("{} ({}{})", effect.component, alone,
                     effect.is_proven ? "" : "; not tested without it: it may be no part of the cause");
}

std::string culprit_text(const ComponentCulprit& culprit) {
  std::vector<std::string> names;
  if (culprit.components.size() == 1) {
    names.push_back(culprit.components.front().component);
  } else {
    for (const ComponentEffect& effect : culprit.components) names.push_back(effect_text(effect));
  }
  std::string text = row("culprit", fmt::format("{}", fmt::join(names, " and ")));
  if (!culprit.differing.empty()) {
    const std::size_t shown = std::min(culprit.differing.size(), kMostParts);
    text += row(
        "other bits",
        fmt::format(
            "{}{}",
            fmt::join(culprit.differing.begin(), culprit.differing.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
            culprit.differing.size() > shown ? fmt::format(" and {} more", culprit.differing.size() - shown) : ""));
  }
  if (!culprit.judgement.empty()) text += row("judged", culprit.judgement);
  text += differences_text("loaded", culprit.loaded, /*is_whole=*/false);
  for (const std::string& command : culprit.commands) {
    text += row(&command == &culprit.commands.front() ? "shown by" : "", command);
  }
  return text;
}

// "memory.peak_anonymous x1.85 with openmp of torch-2.9.0-cu128, x1.00 in torch-2.8.0-cu128"
std::string first_line(const ComponentAnswer& answer, const ComponentBisectDocument& document) {
  const bool has_values = document.check && !answer.culprits.empty() && answer.culprits.front().check;
  if (!has_values) return answer.subject + "\n";
  const ComponentCulprit& culprit = answer.culprits.front();
  std::vector<std::string> names;
  for (const ComponentEffect& effect : culprit.components) names.push_back(effect.component);
  return fmt::format("{} {} with {} of {}, {} in {}\n{}", name_of(*document.check), value_text(culprit.check->after),
                     fmt::join(names, " and "), document.bad, value_text(culprit.check->before), document.good,
                     asked_text(*document.check));
}

std::string answer_text(const ComponentAnswer& answer, const ComponentBisectDocument& document) {
  std::string text = first_line(answer, document);
  if (answer.culprits.empty()) text += row(std::string(to_string(answer.word)), answer.problem);
  text += differences_text("they differ", answer.differences, /*is_whole=*/true);
  if (answer.word == ComponentWord::hidden && answer.differences.empty()) {
    text += row("they differ", "in nothing that a worker tells of itself");
  }
  for (const ComponentCulprit& culprit : answer.culprits) {
    if (&culprit != &answer.culprits.front()) text += row("or", "by itself as well:");
    text += culprit_text(culprit);
  }
  if (!answer.culprits.empty() && answer.rest == PointState::as_good) {
    text += row("without", "all other components exchanged, the good end stays as it is");
  } else if (!answer.culprits.empty() && answer.rest == PointState::another) {
    text += row("without", "all other components exchanged, there is another change too");
  }
  return text + row("evaluations", fmt::format("{}", answer.evaluations.size()));
}

}  // namespace

std::string component_bisect_text(const ComponentBisectDocument& document) {
  std::string text =
      fmt::format("{} against {}: {} components differ\n", document.bad, document.good, document.components.size());
  for (const DifferingComponent& component : document.components) {
    text += fmt::format("  {:<13}{} against {}\n", component.name, first_of(component.bad), first_of(component.good));
  }
  for (const ComponentAnswer& answer : document.answers) text += answer_text(answer, document);
  const bool has_answer =
      std::ranges::any_of(document.answers, [](const ComponentAnswer& answer) { return !answer.culprits.empty(); });
  if (has_answer && document.margin && document.confidence) {
    text += fmt::format("slower by more than {:.3g} %: the answer holds with a confidence of {:.0f} %\n",
                        *document.margin * 100, *document.confidence * 100);
  }
  return text;
}

}  // namespace reprobench

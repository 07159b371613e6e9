#include "matrix/cli/text/component_bisect_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/cli/text/bisect_text.hpp"
#include "matrix/cli/text/text_table.hpp"
#include "matrix/numerics/steps/implementation_changes.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kMostDifferences = 12;

std::string first_of(const std::vector<ComponentLibrary>& libraries) {
  if (libraries.empty()) return "none";
  return fmt::format("{} {}{}", libraries.front().name, libraries.front().identity.substr(0, 12),
                     libraries.size() > 1 ? fmt::format(" and {} more", libraries.size() - 1) : "");
}

std::string effect_text(const ComponentEffect& effect) {
  const std::string alone = effect.alone == PointState::as_good      ? "of no effect alone"
                            : effect.alone == PointState::as_bad     ? "alone"
                            : effect.alone == PointState::untestable ? "untestable alone"
                                                                     : "another change alone";
  return fmt::format("{} ({}{})", effect.component, alone,
                     effect.is_proven ? "" : "; not tested without it: it may be no part of the cause");
}

void add_culprit(TextTable& table, const ComponentCulprit& culprit) {
  std::vector<std::string> names;
  if (culprit.components.size() == 1) {
    names.push_back(culprit.components.front().component);
  } else {
    for (const ComponentEffect& effect : culprit.components) names.push_back(effect_text(effect));
  }
  table.row("culprit", fmt::join(names, " and "));
  if (!culprit.differing.empty()) table.row("other bits", first_names(culprit.differing));
  if (!culprit.judgement.empty()) table.row("judged", culprit.judgement);
  table.list("loaded", culprit.loaded, change_text, kMostDifferences, "more (--json has all)");
  table.list("shown by", culprit.commands);
}

// "memory.peak_anonymous x1.85 with openmp of torch-2.9.0-cu128, x1.00 in torch-2.8.0-cu128"
void add_head(TextTable& table, const ComponentAnswer& answer, const ComponentBisectDocument& document) {
  const bool has_values = document.check && !answer.culprits.empty() && answer.culprits.front().check;
  if (!has_values) {
    table.line("{}", answer.subject);
    return;
  }
  const ComponentCulprit& culprit = answer.culprits.front();
  std::vector<std::string> names;
  for (const ComponentEffect& effect : culprit.components) names.push_back(effect.component);
  table.line("{} {} with {} of {}, {} in {}", name_of(*document.check), value_text(culprit.check->after),
             fmt::join(names, " and "), document.bad, value_text(culprit.check->before), document.good);
  table.row("of", asked_text(*document.check));
}

void add_answer(TextTable& table, const ComponentAnswer& answer, const ComponentBisectDocument& document) {
  add_head(table, answer, document);
  if (answer.culprits.empty()) table.row(to_string(answer.word), answer.problem);
  table.list("they differ", answer.differences, change_text);
  if (answer.word == ComponentWord::hidden && answer.differences.empty()) {
    table.row("they differ", "in nothing that a worker tells of itself");
  }
  for (const ComponentCulprit& culprit : answer.culprits) {
    if (&culprit != &answer.culprits.front()) table.row("or", "by itself as well:");
    add_culprit(table, culprit);
  }
  if (!answer.culprits.empty() && answer.rest == PointState::as_good) {
    table.row("without", "all other components exchanged, the good end stays as it is");
  } else if (!answer.culprits.empty() && answer.rest == PointState::another) {
    table.row("without", "all other components exchanged, there is another change too");
  }
  table.row("evaluations", answer.evaluations.size());
}

}  // namespace

std::string component_bisect_text(const ComponentBisectDocument& document) {
  TextTable table(kBisectLayout);
  table.line("{} against {}: {} components differ", document.bad, document.good, document.components.size());
  for (const DifferingComponent& component : document.components) {
    table.say(component.name, "{} against {}", first_of(component.bad), first_of(component.good));
  }
  for (const ComponentAnswer& answer : document.answers) add_answer(table, answer, document);
  const bool has_answer =
      std::ranges::any_of(document.answers, [](const ComponentAnswer& answer) { return !answer.culprits.empty(); });
  if (has_answer && document.margin && document.confidence) {
    table.line("{}", confidence_text(*document.margin, *document.confidence));
  }
  return table.text();
}

}  // namespace reprobench

#include "matrix/inquiry/bisect/component_document.hpp"

#include <algorithm>

namespace reprobench {
namespace {

std::vector<std::string> names_of(const std::vector<std::size_t>& set, const std::vector<std::string>& components) {
  std::vector<std::string> names;
  for (const std::size_t component : set) names.push_back(components[component]);
  return names;
}

// By themselves, when they were first asked, the bad end was seen to be as the good one.
bool ends_are_equal(const ComponentSearch& search) {
  const MixEvaluation& latest = search.evaluations.back();
  return latest.mix.kind == MixKind::bad_end && !latest.is_confirmation && latest.answer.state == PointState::as_good;
}

ComponentWord word_of(const ComponentSearch& search) {
  if (search.is_hidden) return ComponentWord::hidden;
  if (!search.problem.empty()) return ends_are_equal(search) ? ComponentWord::equal : ComponentWord::unclear;
  const bool is_proven =
      std::ranges::all_of(search.culprits, [](const CulpritSet& culprit) { return culprit.unproven.empty(); });
  return is_proven ? ComponentWord::found : ComponentWord::together;
}

}  // namespace

DifferingComponent differing_component(const std::string& name, std::vector<ComponentLibrary> good,
                                       std::vector<ComponentLibrary> bad) {
  DifferingComponent component{name, good, bad};
  const auto is_in = [](const std::vector<ComponentLibrary>& side) {
    return [&side](const ComponentLibrary& library) { return std::ranges::find(side, library) != side.end(); };
  };
  std::erase_if(component.good, is_in(bad));
  std::erase_if(component.bad, is_in(good));
  return component;
}

ComponentAnswer answer_of_components(const std::string& subject, const ComponentSearch& search,
                                     const std::vector<std::string>& components) {
  ComponentAnswer answer;
  answer.subject = subject;
  answer.word = word_of(search);
  answer.problem = search.problem;
  answer.rest = search.rest;
  for (const CulpritSet& culprit : search.culprits) {
    ComponentCulprit named;
    for (std::size_t i = 0; i < culprit.components.size(); ++i) {
      const std::size_t component = culprit.components[i];
      const bool is_unproven = std::ranges::find(culprit.unproven, component) != culprit.unproven.end();
      named.components.push_back({components[component], culprit.alone[i], !is_unproven});
    }
    answer.culprits.push_back(std::move(named));
  }
  for (const MixEvaluation& evaluation : search.evaluations) {
    answer.evaluations.push_back({evaluation.mix.kind, names_of(evaluation.mix.from_bad, components),
                                  evaluation.answer.state, evaluation.answer.why, evaluation.is_confirmation});
  }
  return answer;
}

}  // namespace reprobench

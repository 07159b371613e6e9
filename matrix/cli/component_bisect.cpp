#include "matrix/cli/component_bisect.hpp"

#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace reprobench {

std::vector<std::string> ComponentBisect::names_of(const std::vector<std::size_t>& set) const {
  std::vector<std::string> names;
  for (const std::size_t component : set) names.push_back(names_[component]);
  return names;
}

const MixedStack& ComponentBisect::mixed(const std::vector<std::size_t>& from_bad) {
  const auto known = made_.find(from_bad);
  if (known != made_.end()) return known->second;
  return made_[from_bad] = mixes_.made_with(names_of(from_bad));
}

ComponentSearch ComponentBisect::searched(
    const std::string& subject,
    const std::function<PointAnswer(const std::string& stack, bool is_confirmation)>& evaluate) {
  log_(subject + "\n");
  std::size_t number = 0;
  const auto answer = [&](const Mix& mix, bool is_confirmation) -> PointAnswer {
    if (mix.kind == MixKind::good_end) return evaluate(scene_.axis.front(), is_confirmation);
    if (mix.kind == MixKind::bad_end) return evaluate(scene_.axis.back(), is_confirmation);
    const MixedStack& made = mixed(mix.from_bad);
    if (made.stack.empty()) return {PointState::untestable, made.why_not, ""};
    return evaluate(made.stack, is_confirmation);
  };
  return bisect_components(names_.size(), [&](const Mix& mix, bool is_confirmation) {
    const PointAnswer seen = answer(mix, is_confirmation);
    const std::string what = mix.kind == MixKind::mix ? fmt::format("with {}", fmt::join(names_of(mix.from_bad), ", "))
                                                      : std::string(to_string(mix.kind));
    log_(fmt::format("  [{}] {}{}: {}{}{}\n", ++number, what, is_confirmation ? " again" : "", to_string(seen.state),
                     seen.why.empty() ? "" : ": ", seen.why));
    return seen;
  });
}

void ComponentBisect::complete(ComponentAnswer& answer, const ComponentSearch& search, const Question& question,
                               const CommandFor& command) {
  const std::string& good = scene_.axis.front();
  for (std::size_t i = 0; i < answer.culprits.size(); ++i) {
    ComponentCulprit& culprit = answer.culprits[i];
    const std::vector<std::size_t>& components = search.culprits[i].components;
    culprit.stack = mixed(components).stack;
    StackChange change;
    change.before = good;
    change.after = culprit.stack;
    question.describe(change, *search.answer_to({MixKind::mix, components}));
    culprit.differing = change.differing;
    culprit.judgement = change.judgement;
    culprit.loaded = change.components;
    culprit.check = change.check;
    const std::string making = mixes_.making(names_of(components));
    if (!making.empty()) culprit.commands.push_back(making);
    culprit.commands.push_back(command(answer.subject, change));
  }
  if (!search.is_hidden || names_.empty()) return;
  std::vector<std::size_t> all(names_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  answer.differences = question.components_between(mixed(all).stack, scene_.axis.back());
}

ComponentAnswer ComponentBisect::ask(const std::string& subject, const Question& question, const CommandFor& command) {
  const ComponentSearch search = searched(subject, question.answer);
  ComponentAnswer answer = answer_of_components(subject, search, names_);
  complete(answer, search, question, command);
  return answer;
}

ComponentAnswer ComponentBisect::ask_for_bits(BitsQuestion& bits, const std::string& subject,
                                              const CommandFor& command) {
  const auto answer = [&](const std::string& stack, bool is_confirmation) {
    if (is_confirmation) bits.forget(stack);
    return bits.answer_of_stack(subject, stack);
  };
  const auto describe = [&](StackChange& change, const PointAnswer&) { bits.describe(subject, change); };
  const auto between = [&](const std::string& before, const std::string& after) {
    return bits.components_between(before, after);
  };
  return ask(subject, {answer, describe, between}, command);
}

ComponentAnswer ComponentBisect::ask_for_speed(SpeedQuestion& speed, BitsQuestion& bits, const std::string& subject,
                                               const CommandFor& command) {
  const auto answer = [&](const std::string& stack, bool is_confirmation) {
    return speed.answer_of_stack(stack, is_confirmation);
  };
  const auto between = [&](const std::string& before, const std::string& after) {
    return bits.components_between(before, after);
  };
  const auto describe = [&](StackChange& change, const PointAnswer& after) {
    change.judgement = after.why;
    change.components = between(change.before, change.after);
  };
  return ask(subject, {answer, describe, between}, command);
}

ComponentBisectDocument ComponentBisect::begun(const char* asked) const {
  ComponentBisectDocument document;
  document.asked = asked;
  document.components = mixes_.components();
  return document;
}

void ComponentBisect::keep_named(const ComponentBisectDocument& document) {
  std::vector<std::string> named;
  for (const ComponentAnswer& answer : document.answers) {
    for (const ComponentCulprit& culprit : answer.culprits) named.push_back(culprit.stack);
  }
  mixes_.keep_only(named);
}

ComponentBisectDocument ComponentBisect::answered(BitsQuestion& bits, const std::vector<std::string>& subjects,
                                                  std::optional<double> slower_rel, const CommandFor& command) {
  ComponentBisectDocument document = begun(slower_rel ? "speed" : "bits");
  if (slower_rel) {
    const auto most = static_cast<int>(most_component_evaluations(names_.size()));
    const SequentialPlan plan = sequential_plan(*slower_rel, most);
    document.margin = plan.margin;
    document.confidence = plan.confidence;
    SpeedQuestion speed(scene_, plan);
    for (const std::string& subject : subjects) {
      document.answers.push_back(ask_for_speed(speed, bits, subject, command));
    }
  } else {
    for (const std::string& subject : subjects) document.answers.push_back(ask_for_bits(bits, subject, command));
  }
  keep_named(document);
  return document;
}

ComponentBisectDocument ComponentBisect::answered(CheckQuestion& check, const AskedCheck& asked,
                                                  const CommandFor& command) {
  ComponentBisectDocument document = begun("check");
  document.check = asked;
  const auto answer = [&](const std::string& stack, bool is_confirmation) {
    return check.answer_of_stack(stack, is_confirmation);
  };
  const auto describe = [&](StackChange& change, const PointAnswer&) { check.describe(change); };
  const auto between = [&](const std::string& before, const std::string& after) {
    return check.components_between(before, after);
  };
  document.answers.push_back(ask(subject_of(asked), {answer, describe, between}, command));
  keep_named(document);
  return document;
}

}  // namespace reprobench

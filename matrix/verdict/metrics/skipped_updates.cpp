#include "matrix/verdict/metrics/skipped_updates.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace reprobench {
namespace {

constexpr const char* kSkipped = "skipped";

// Nothing where the step does not say.
std::optional<bool> is_skipped(const StepRecord& step) {
  const auto event = step.events.find(kSkipped);
  if (event == step.events.end() || !event->is_number_integer()) return std::nullopt;
  return event->get<std::int64_t>() != 0;
}

bool has_dynamic_scale(const RankRecord& rank) {
  if (said_of<&Settings::loss_scale>(rank.result->knobs_resolved) == LossScale::dynamic) return true;
  return std::ranges::any_of(rank.trace->steps, [](const StepRecord& step) { return step.loss_scale.has_value(); });
}

std::string unknown_because(const StepList& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto skipped = is_skipped(steps[i]);
    if (!skipped || !steps[i].loss_scale) {
      return fmt::format("step {} does not say whether it was skipped", steps[i].step);
    }
    if (i + 1 == steps.size() || !steps[i + 1].loss_scale) continue;
    const bool is_lowered = *steps[i + 1].loss_scale < *steps[i].loss_scale;
    if (is_lowered == *skipped) continue;
    return fmt::format("step {} is said to {}, and the loss scale of the next is {} against {}", steps[i].step,
                       *skipped ? "be skipped" : "have updated", *steps[i + 1].loss_scale, *steps[i].loss_scale);
  }
  return "";
}

CheckResult built_in(const CellEvidence& evidence, const AttemptRecord& attempt) {
  CheckResult check;
  check.metric = "numerics.updates";
  check.unit = "count";
  check.samples = static_cast<int>(evidence.repeats.size());
  check.bound = "min: 1";
  check.origin = "built in";
  check.repeat = attempt.repeat;
  return check;
}

}  // namespace

std::optional<SkippedSteps> skipped_steps(const RankRecord& rank) {
  if (!has_dynamic_scale(rank)) return std::nullopt;
  const StepList& steps = rank.trace->steps;
  SkippedSteps found;
  found.steps = static_cast<std::int64_t>(steps.size());
  found.skipped = std::ranges::count_if(steps, [](const StepRecord& step) { return is_skipped(step).value_or(false); });
  found.unknown = unknown_because(steps);
  return found;
}

Measurement skipped_updates(const AttemptRecord& attempt, const MeasurementSelection&) {
  const auto none = [&](const std::string& why) { return no_value(fmt::format("repeat {} {}", attempt.repeat, why)); };
  Measurement most;
  for (const RankRecord& rank : attempt.ranks) {
    const auto found = skipped_steps(rank);
    if (!found) return none("has a constant loss scale, with which no step is skipped");
    if (!found->unknown.empty()) return none("cannot be counted: " + found->unknown);
    if (found->steps == 0) return none("has no steps");
    const double share = static_cast<double>(found->skipped) / static_cast<double>(found->steps);
    if (most.value && share <= *most.value) continue;
    most = {share, std::nullopt, "", fmt::format("{} of {} steps are skipped", found->skipped, found->steps)};
  }
  return most;
}

std::string updated_nothing(const AttemptRecord& attempt) {
  for (const RankRecord& rank : attempt.ranks) {
    const auto found = skipped_steps(rank);
    if (!found || found->skipped < found->steps) continue;
    return fmt::format("{} of {} steps are skipped", found->skipped, found->steps);
  }
  return "";
}

std::optional<CheckResult> no_updates(const CellEvidence& evidence) {
  std::optional<CheckResult> unknown;
  for (const AttemptRecord& attempt : evidence.repeats) {
    if (const std::string nothing = updated_nothing(attempt); !nothing.empty()) {
      CheckResult check = built_in(evidence, attempt);
      check.status = CheckStatus::failed;
      check.reason = "nothing_updated";
      check.measured = 0;
      check.sentence =
          fmt::format("repeat {}: {}: no gradient was finite, and nothing was trained", attempt.repeat, nothing);
      return check;
    }
    for (const RankRecord& rank : attempt.ranks) {
      const auto found = skipped_steps(rank);
      if (!found || found->unknown.empty() || unknown) continue;
      unknown = built_in(evidence, attempt);
      unknown->status = CheckStatus::inconclusive;
      unknown->reason = "missing_metric";
      unknown->sentence = fmt::format("repeat {}: {}", attempt.repeat, found->unknown);
    }
  }
  return unknown;
}

std::string other_skip_text(const Trace& measured, const Trace& expected, const std::string& measured_name,
                            const std::string& expected_name) {
  for (std::size_t i = 0; i < std::min(measured.steps.size(), expected.steps.size()); ++i) {
    const auto ours = is_skipped(measured.steps[i]);
    const auto theirs = is_skipped(expected.steps[i]);
    if (!ours || !theirs || *ours == *theirs) continue;
    return fmt::format("{} skips the update of step {}, {} does not", *ours ? measured_name : expected_name,
                       measured.steps[i].step, *ours ? expected_name : measured_name);
  }
  return "";
}

}  // namespace reprobench

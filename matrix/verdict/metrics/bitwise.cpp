#include "matrix/verdict/metrics/bitwise.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/numerics/steps/fingerprint_differences.hpp"
#include "matrix/numerics/steps/tensor_distance.hpp"

namespace reprobench {
namespace {

bool is_constructed(const TensorRecord& tensor, std::int64_t step) {
  return tensor.role == TensorRole::input || (tensor.role == TensorRole::parameter && step == 1);
}

void count_tensors(const TensorsRecord& ours, const TensorsRecord& theirs, const std::string& against,
                   Measurement& found) {
  const std::size_t count = std::max(ours.tensors.size(), theirs.tensors.size());
  for (std::size_t i = 0; i < count; ++i) {
    const TensorRecord* a = i < ours.tensors.size() ? &ours.tensors[i] : nullptr;
    const TensorRecord* b = i < theirs.tensors.size() ? &theirs.tensors[i] : nullptr;
    if (a != nullptr && b != nullptr && a->name == b->name && a->digest == b->digest) continue;
    const TensorRecord& named = a != nullptr ? *a : *b;
    *found.value += 1;
    if (found.divergence) continue;
    found.divergence = CheckDivergence{{ours.step, named.name, std::string(to_string(named.role)),
                                        a != nullptr ? a->digest : "", b != nullptr ? b->digest : ""},
                                       against};
  }
}

// What a step was to do, beside its inputs: "learning rate 0.001, 32 samples".
std::string asked_of(const StepRecord& step) {
  return fmt::format("learning rate {}, {} samples", step.learning_rate, step.samples);
}

// Steps whose tensors are on record on one side alone are held to what their lines say.
void count_steps(const Trace& ours, const Trace& theirs, const std::string& against, Measurement& found) {
  for (std::size_t i = 0; i < std::min(ours.steps.size(), theirs.steps.size()); ++i) {
    const std::string asked = asked_of(ours.steps[i]);
    const std::string expected = asked_of(theirs.steps[i]);
    if (asked == expected) continue;
    *found.value += 1;
    if (found.divergence) continue;
    found.divergence =
        CheckDivergence{{ours.steps[i].step, "", fmt::format("{} instead of {}", asked, expected), "", ""}, against};
  }
}

}  // namespace

std::string not_bitwise_because(const CellEvidence& measured, const CellEvidence& expected) {
  if (measured.device != expected.device) return fmt::format("{} against {}", measured.device, expected.device);
  const auto& ours = measured.repeats.front().ranks;
  const auto& theirs = expected.repeats.front().ranks;
  if (ours.size() != theirs.size()) return fmt::format("{} ranks against {}", ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto differences = fingerprint_differences(ours[i].result->fingerprint, theirs[i].result->fingerprint);
    if (differences.empty()) continue;
    const SideDifference& first = differences.front().difference;
    return fmt::format("{} {}", first.what, sides_text(first));
  }
  return "";
}

Trace constructed_part(const Trace& trace) {
  Trace part;
  part.header = trace.header;
  for (const StepRecord& step : trace.steps) {
    StepRecord kept;
    kept.step = step.step;
    kept.learning_rate = step.learning_rate;
    kept.samples = step.samples;
    part.steps.push_back(std::move(kept));
  }
  for (const TensorsRecord& tensors : trace.tensors) {
    if (tensors.is_final) continue;
    TensorsRecord kept{tensors.step, false, {}};
    for (const TensorRecord& tensor : tensors.tensors) {
      if (is_constructed(tensor, tensors.step)) kept.tensors.push_back(tensor);
    }
    part.tensors.push_back(std::move(kept));
  }
  return part;
}

Measurement by_construction_mismatches(const CellEvidence& cell, const CellEvidence* anchor) {
  const bool is_own_anchor = anchor->slug == cell.slug;
  if (is_own_anchor && cell.repeats.size() < 2) {
    return {std::nullopt, std::nullopt, "one process, and no other cell of this workload to hold it against"};
  }
  const AttemptRecord& expected = anchor->repeats.front();
  const std::string against = is_own_anchor ? "repeat 0" : anchor->slug;
  Measurement found{0.0, std::nullopt, ""};
  std::size_t tensors = 0;
  std::size_t steps = 0;
  for (const AttemptRecord& attempt : cell.repeats) {
    for (std::size_t i = 0; i < std::min(attempt.ranks.size(), expected.ranks.size()); ++i) {
      const Trace theirs = constructed_part(*expected.ranks[i].trace);
      const Trace ours = constructed_part(*attempt.ranks[i].trace);
      count_steps(ours, theirs, against, found);
      steps = std::max(steps, std::min(ours.steps.size(), theirs.steps.size()));
      for (const TensorsRecord& our_step : ours.tensors) {
        const TensorsRecord* their_step = tensors_of_step(theirs, our_step.step);
        if (their_step == nullptr) continue;
        count_tensors(our_step, *their_step, against, found);
        tensors += our_step.tensors.size();
      }
    }
    const std::string& digest = attempt.lead().result->workload_digest;
    const std::string& expected_digest = expected.lead().result->workload_digest;
    if (digest == expected_digest) continue;
    *found.value += 1;
    if (!found.divergence) {
      found.divergence = CheckDivergence{{0, "", "workload digest", digest, expected_digest}, against};
    }
  }
  std::string what = "workload digest";
  if (steps > 0) what += fmt::format(", learning rate and samples of {} steps", steps);
  if (tensors > 0) what += fmt::format(", {} inputs and first parameters", tensors);
  found.statement = *found.value == 0 ? fmt::format("{} are those of {}", what, against)
                                      : fmt::format("{} times other than {}: {}", *found.value, against, what);
  return found;
}

}  // namespace reprobench

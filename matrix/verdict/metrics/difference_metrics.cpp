#include "matrix/verdict/metrics/difference_metrics.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "matrix/numerics/steps/tensor_distance.hpp"
#include "matrix/verdict/divergence.hpp"
#include "matrix/verdict/metrics/over_repeats.hpp"
#include "matrix/verdict/metrics/probe_metrics.hpp"
#include "matrix/verdict/metrics/skipped_updates.hpp"

namespace reprobench {
namespace {

constexpr const char* kNoGradientSketches =
    "step 1 has no gradient sketches on both sides; the suite needs `trace: tensor`";

std::string other_layout(const AttemptRecord& measured, const AttemptRecord& expected) {
  if (measured.ranks.size() == expected.ranks.size()) return "";
  return fmt::format("{} ranks against {}", measured.ranks.size(), expected.ranks.size());
}

// "differs from repeat 0 in 182 of 200 steps", "differs from repeat 0 in the state after the last step".
std::string difference_text(const TraceComparison& comparison, const std::string& against) {
  if (comparison.steps_differing == 0 && !comparison.final_state_differs) {
    return fmt::format("has the bits of {} in all {} steps", against, comparison.steps_compared);
  }
  const std::string where = comparison.steps_differing == 0
                                ? "the state after the last step"
                                : fmt::format("{} of {} steps{}", comparison.steps_differing, comparison.steps_compared,
                                              comparison.final_state_differs ? " and the state after them" : "");
  return fmt::format("differs from {} in {}", against, where);
}

// Every rank against the same rank of the other side; the one with most differences speaks.
Measurement differing_steps(const AttemptRecord& measured, const AttemptRecord& expected, const std::string& against) {
  if (const std::string layout = other_layout(measured, expected); !layout.empty()) return no_value(layout);
  Measurement worst;
  for (std::size_t i = 0; i < measured.ranks.size(); ++i) {
    const std::string name = measured.ranks.size() > 1 ? fmt::format("{}, rank {}", against, i) : against;
    const TraceComparison comparison = compare_traces(*measured.ranks[i].trace, *expected.ranks[i].trace);
    // A probe has none: its numbers are measurements, which other metrics hold against each other.
    if (comparison.steps_compared == 0) return no_value("no step was recorded on both sides");
    const auto differing = static_cast<double>(comparison.steps_differing + (comparison.final_state_differs ? 1 : 0));
    if (worst.value && differing <= *worst.value) continue;
    std::string statement = fmt::format("repeat {} {}", measured.repeat, difference_text(comparison, name));
    const std::string skip = other_skip_text(*measured.ranks[i].trace, *expected.ranks[i].trace,
                                             fmt::format("repeat {}", measured.repeat), name);
    if (!skip.empty()) statement += "; " + skip;
    worst = {differing, std::nullopt, "", "", statement, measured.repeat};
    if (comparison.first) worst.divergence = CheckDivergence{*comparison.first, name};
  }
  return worst;
}

// The largest distance between equal ranks of two attempts; nothing if one pair of them has none.
template <class Distance>
Measurement largest_distance(const AttemptRecord& measured, const AttemptRecord& expected, const char* none,
                             Distance distance) {
  if (const std::string layout = other_layout(measured, expected); !layout.empty()) return no_value(layout);
  double largest = 0;
  for (std::size_t i = 0; i < measured.ranks.size(); ++i) {
    const std::optional<double> one = distance(*measured.ranks[i].trace, *expected.ranks[i].trace);
    if (!one) return no_value(none);
    if (std::isnan(*one)) return {one, std::nullopt, ""};
    largest = std::max(largest, *one);
  }
  return {largest, std::nullopt, ""};
}

// Whether all others agree among themselves and with nothing of the first: then the first is the odd one.
bool is_first_odd(const std::vector<AttemptRecord>& repeats) {
  const auto chain = [](const AttemptRecord& attempt) { return attempt.lead().result->chain; };
  return repeats.size() > 2 && chain(repeats[0]) != chain(repeats[1]) &&
         std::all_of(repeats.begin() + 2, repeats.end(),
                     [&](const AttemptRecord& attempt) { return chain(attempt) == chain(repeats[1]); });
}

// The first repeats of both sides that differ; of equal ones the last that were compared.
Measurement first_difference(const CellEvidence& cell, const CellEvidence& reference) {
  Measurement found;
  for (const AttemptRecord& ours : cell.repeats) {
    for (const AttemptRecord& theirs : reference.repeats) {
      found = differing_steps(ours, theirs, reference.slug);
      if (found.value != 0.0) return found;
    }
  }
  return found;
}

// The parameter whose first gradients are farthest apart.
Measurement farthest_first_gradient(const AttemptRecord& measured, const AttemptRecord& expected,
                                    const std::string& precision) {
  if (const std::string layout = other_layout(measured, expected); !layout.empty()) return no_value(layout);
  FarthestTensor farthest;
  for (std::size_t i = 0; i < measured.ranks.size(); ++i) {
    const TensorsRecord* ours = tensors_of_step(*measured.ranks[i].trace, 1);
    const TensorsRecord* theirs = tensors_of_step(*expected.ranks[i].trace, 1);
    const auto found = ours == nullptr || theirs == nullptr
                           ? std::nullopt
                           : farthest_tensor(*ours, *theirs, TensorRole::parameter_gradient, precision);
    if (!found) return no_value(kNoGradientSketches);
    if (farthest.name.empty() || found->distance_rel > farthest.distance_rel) farthest = *found;
  }
  Measurement found{farthest.distance_rel, std::nullopt, ""};
  if (farthest.distance_rel > 0) found.finding = farthest.name;
  return found;
}

}  // namespace

Measurement repeat_mismatches(const CellEvidence& cell, const CellEvidence*) {
  if (cell.repeats.size() < 2) return no_value("needs at least 2 repeats, the cell has 1");
  if (is_first_odd(cell.repeats)) return differing_steps(cell.repeats[0], cell.repeats[1], "repeat 1");
  Measurement worst{0.0, std::nullopt, ""};
  for (std::size_t i = 1; i < cell.repeats.size(); ++i) {
    Measurement against_first = differing_steps(cell.repeats[i], cell.repeats[0], "repeat 0");
    if (!against_first.value) return against_first;
    if (*against_first.value > *worst.value) worst = std::move(against_first);
  }
  if (*worst.value == 0) {
    worst.statement = fmt::format("{} processes have equal bits in all {} steps", cell.repeats.size(),
                                  cell.repeats[0].lead().trace->steps.size());
  }
  return worst;
}

Measurement reference_mismatches(const CellEvidence& cell, const CellEvidence* reference) {
  return worst_of_repeats(cell, [&](const AttemptRecord& repeat) {
    return differing_steps(repeat, reference->repeats[0], reference->slug);
  });
}

// Equal bits need no diagnosis; other bits are never judged by anything else.
Measurement beyond_rounding(const CellEvidence& cell, const CellEvidence* reference) {
  Measurement found = first_difference(cell, *reference);
  if (!found.value || *found.value == 0) return found;
  const CellDiagnosis* diagnosis = cell.diagnosis;
  if (diagnosis == nullptr) {
    Measurement open = no_value(found.statement + "; what the difference is was not asked");
    open.missing_reason = "undiagnosed";
    return open;
  }
  found.statement = fmt::format("{}: {}", to_string(diagnosis->word), diagnosis->sentence);
  switch (diagnosis->word) {
    case ExplainedWord::rounding:
      found.value = 0;
      return found;
    case ExplainedWord::another_computation:
    case ExplainedWord::defect:
      found.value = 1;
      return found;
    case ExplainedWord::undecided:
      break;
  }
  Measurement open = no_value(found.statement);
  open.missing_reason = "undiagnosed";
  return open;
}

// A cell whose repeats differ among themselves says nothing about another host.
Measurement host_mismatches(const CellEvidence& cell, const CellEvidence* other) {
  for (const CellEvidence* side : {&cell, other}) {
    const Measurement own = side->repeats.size() < 2 ? Measurement{0.0, {}, ""} : repeat_mismatches(*side, nullptr);
    if (!own.value) return no_value(side->slug + ": " + own.missing);
    if (*own.value > 0) return no_value(side->slug + " does not repeat its own bits");
  }
  return differing_steps(cell.repeats[0], other->repeats[0], other->slug);
}

// Another class of GPU has other kernels, and a fault that was planted in a repeat changes no library's choice.
Measurement changed_algorithms(const CellEvidence& cell, const CellEvidence* reference) {
  if (cell.device != reference->device) return no_value("a library chooses anew for every class of device");
  return changed_algorithms_between(*cell.repeats[0].lead().result, *reference->repeats[0].lead().result);
}

Measurement first_gradient_rel(const CellEvidence& cell, const CellEvidence* reference) {
  return worst_of_repeats(cell, [&](const AttemptRecord& repeat) {
    return largest_distance(repeat, reference->repeats[0], kNoGradientSketches,
                            [](const Trace& a, const Trace& b) { return gradient_distance_rel(a, b, 1); });
  });
}

Measurement first_gradient_tensor_rel(const CellEvidence& cell, const CellEvidence* reference) {
  return worst_of_repeats(cell, [&](const AttemptRecord& repeat) {
    return farthest_first_gradient(repeat, reference->repeats[0], cell.precision);
  });
}

Measurement loss_rel(const CellEvidence& cell, const CellEvidence* reference) {
  return worst_of_repeats(cell, [&](const AttemptRecord& repeat) {
    return largest_distance(repeat, reference->repeats[0], "a loss is missing", &largest_loss_distance_rel);
  });
}

Measurement first_step_to_cpu_rel(const CellEvidence& cell, const CellEvidence* on_cpu) {
  const Measurement gradients = first_gradient_rel(cell, on_cpu);
  const Measurement loss = worst_of_repeats(cell, [&](const AttemptRecord& repeat) {
    return largest_distance(repeat, on_cpu->repeats[0], "the first step's loss is missing", &first_loss_distance_rel);
  });
  for (const Measurement* found : {&gradients, &loss}) {
    if (!found->value) return *found;
  }
  Measurement larger = std::isnan(*loss.value) || *loss.value > *gradients.value ? loss : gradients;
  larger.statement = fmt::format("the first step's loss is {:.2g} and its gradients are {:.2g} from those of {}",
                                 *loss.value, *gradients.value, on_cpu->slug);
  return larger;
}

}  // namespace reprobench

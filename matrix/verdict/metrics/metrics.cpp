#include "matrix/verdict/metrics/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include <fmt/format.h>

#include "matrix/base/number.hpp"
#include "matrix/evidence/timed_steps.hpp"
#include "matrix/numerics/steps/tensor_distance.hpp"
#include "matrix/stats/robust.hpp"
#include "matrix/verdict/divergence.hpp"
#include "matrix/verdict/metrics/bitwise.hpp"
#include "matrix/verdict/metrics/collective_metrics.hpp"
#include "matrix/verdict/metrics/compute_share.hpp"
#include "matrix/verdict/metrics/layout_metrics.hpp"
#include "matrix/verdict/metrics/learning_metrics.hpp"
#include "matrix/verdict/metrics/probe_metrics.hpp"
#include "matrix/verdict/metrics/replica_metrics.hpp"
#include "matrix/verdict/metrics/resume_metrics.hpp"
#include "matrix/verdict/metrics/scaling_metrics.hpp"
#include "matrix/verdict/metrics/skipped_updates.hpp"
#include "matrix/verdict/metrics/state_memory_metrics.hpp"

namespace reprobench {
namespace {

using MaybeValue = std::optional<double>;

MaybeValue median_step_time_ns(const AttemptRecord& attempt) {
  const std::vector<double> times_ns = timed_steps_ns(attempt);
  if (times_ns.empty()) return std::nullopt;
  return median(times_ns);
}

// Over all ranks of an attempt; nothing if one of them lacks its value. A time is the slowest rank's and device memory
// the fullest one's; host memory and samples add up, as the ranks share the host and the batch.
template <class Value>
MaybeValue largest(const AttemptRecord& attempt, Value value) {
  MaybeValue result;
  for (const RankRecord& rank : attempt.ranks) {
    const MaybeValue one = value(rank);
    if (!one || std::isnan(*one)) return one;
    result = result ? std::max(*result, *one) : *one;
  }
  return result;
}

template <class Value>
MaybeValue total(const AttemptRecord& attempt, Value value) {
  double sum = 0;
  for (const RankRecord& rank : attempt.ranks) {
    const MaybeValue one = value(rank);
    if (!one) return std::nullopt;
    sum += *one;
  }
  return sum;
}

double total_steps_ns(const AttemptRecord& attempt) {
  const std::vector<double> times_ns = all_steps_ns(attempt);
  return std::accumulate(times_ns.begin(), times_ns.end(), 0.0);
}

// A step in fifty may take a hundred times as long without moving the median.
MaybeValue mean_step_time_ns(const AttemptRecord& attempt) {
  const std::size_t steps = attempt.lead().trace->steps.size();
  if (steps == 0) return std::nullopt;
  return total_steps_ns(attempt) / static_cast<double>(steps);
}

// The first steps are always slow: in a short run they would be all that this is about.
MaybeValue step_time_p99_ns(const AttemptRecord& attempt) {
  const std::vector<double> times_ns = all_steps_ns(attempt);
  if (times_ns.empty()) return std::nullopt;
  return percentile(std::span(times_ns).subspan(warm_up_steps(times_ns.size())), 0.99);
}

MaybeValue samples_per_s(const AttemptRecord& attempt) {
  const double time_ns = total_steps_ns(attempt);
  if (time_ns <= 0) return std::nullopt;
  const auto samples = total(attempt, [](const RankRecord& rank) {
    double sum = 0;
    for (const StepRecord& step : rank.trace->steps) sum += static_cast<double>(step.samples);
    return MaybeValue(sum);
  });
  return *samples * 1e9 / time_ns;
}

// Of all time after the warm-up; nothing where a step does not say.
MaybeValue data_wait_share(const AttemptRecord& attempt) {
  return largest(attempt, [](const RankRecord& rank) -> MaybeValue {
    const StepList& steps = rank.trace->steps;
    double waited_ns = 0;
    double all_ns = 0;
    for (std::size_t i = warm_up_steps(steps.size()); i < steps.size(); ++i) {
      if (!steps[i].phases.data_wait_ns) return std::nullopt;
      waited_ns += static_cast<double>(*steps[i].phases.data_wait_ns);
      all_ns += static_cast<double>(steps[i].step_time_ns);
    }
    return all_ns > 0 ? MaybeValue(waited_ns / all_ns) : std::nullopt;
  });
}

MaybeValue start_to_first_step_ns(const AttemptRecord& attempt) {
  return largest(attempt, [](const RankRecord& rank) {
    const auto time_ns = rank.result->start_to_first_step_ns;
    return time_ns > 0 ? MaybeValue(static_cast<double>(time_ns)) : std::nullopt;
  });
}

MaybeValue peak_rss_bytes(const AttemptRecord& attempt) {
  return total(attempt, [](const RankRecord& rank) {
    const auto bytes = rank.result->peak_rss_bytes;
    return bytes > 0 ? MaybeValue(static_cast<double>(bytes)) : std::nullopt;
  });
}

MaybeValue peak_anonymous_bytes(const AttemptRecord& attempt) {
  return total(attempt, [](const RankRecord& rank) {
    const auto bytes = rank.result->peak_anonymous_bytes;
    return bytes > 0 ? MaybeValue(static_cast<double>(bytes)) : std::nullopt;
  });
}

// The results write -1 for what a device does not have.
MaybeValue device_peak_bytes(const AttemptRecord& attempt) {
  return largest(attempt, [](const RankRecord& rank) {
    const auto bytes = rank.result->peak_allocated_bytes;
    return bytes >= 0 ? MaybeValue(static_cast<double>(bytes)) : std::nullopt;
  });
}

// Growth over the second half of the run, when every buffer has long been touched.
template <std::int64_t StepRecord::*bytes>
MaybeValue growth_bytes(const AttemptRecord& attempt) {
  return total(attempt, [](const RankRecord& rank) -> MaybeValue {
    std::vector<double> samples;
    for (const StepRecord& step : rank.trace->steps) {
      if (step.*bytes >= 0) samples.push_back(static_cast<double>(step.*bytes));
    }
    if (samples.size() < 4) return std::nullopt;
    return samples.back() - samples[samples.size() / 2];
  });
}

MaybeValue final_loss(const AttemptRecord& attempt) {
  return largest(attempt, [](const RankRecord& rank) {
    return rank.trace->steps.empty() ? std::nullopt : exact_float_from_json(rank.trace->steps.back().loss);
  });
}

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

// A single odd repeat is repeat_mismatches' business: the reference is held against the first.
Measurement reference_mismatches(const CellEvidence& cell, const CellEvidence* reference) {
  return differing_steps(cell.repeats[0], reference->repeats[0], reference->slug);
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

// The largest of the cell's repeats by the smallest of the reference's, so that chance never makes it look smaller.
Measurement peak_anonymous_share(const CellEvidence& cell, const CellEvidence* reference) {
  Measurement largest;
  for (const AttemptRecord& attempt : cell.repeats) {
    const MaybeValue bytes = peak_anonymous_bytes(attempt);
    if (!bytes) return no_value(fmt::format("repeat {} measured none", attempt.repeat));
    if (!largest.value || *bytes > *largest.value) largest = {bytes, std::nullopt, "", "", "", attempt.repeat};
  }
  MaybeValue of_reference;
  for (const AttemptRecord& attempt : reference->repeats) {
    const MaybeValue bytes = peak_anonymous_bytes(attempt);
    if (!bytes) return no_value(fmt::format("{} measured none", reference->slug));
    if (!of_reference || *bytes < *of_reference) of_reference = bytes;
  }
  largest.statement =
      fmt::format("{:.1f} MB, {} takes {:.1f} MB", *largest.value * 1e-6, reference->slug, *of_reference * 1e-6);
  largest.value = *largest.value / *of_reference;
  return largest;
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

constexpr const char* kNoGradientSketches =
    "step 1 has no gradient sketches on both sides; the suite needs `trace: tensor`";

Measurement first_gradient_rel(const CellEvidence& cell, const CellEvidence* reference) {
  return largest_distance(cell.repeats[0], reference->repeats[0], kNoGradientSketches,
                          [](const Trace& a, const Trace& b) { return gradient_distance_rel(a, b, 1); });
}

// One tensor that is wrong can be some millionths of all gradients' length.
Measurement first_gradient_tensor_rel(const CellEvidence& cell, const CellEvidence* reference) {
  const AttemptRecord& measured = cell.repeats[0];
  const AttemptRecord& expected = reference->repeats[0];
  if (const std::string layout = other_layout(measured, expected); !layout.empty()) return no_value(layout);
  FarthestTensor farthest;
  for (std::size_t i = 0; i < measured.ranks.size(); ++i) {
    const TensorsRecord* ours = tensors_of_step(*measured.ranks[i].trace, 1);
    const TensorsRecord* theirs = tensors_of_step(*expected.ranks[i].trace, 1);
    const auto found = ours == nullptr || theirs == nullptr
                           ? std::nullopt
                           : farthest_tensor(*ours, *theirs, TensorRole::parameter_gradient, cell.precision);
    if (!found) return no_value(kNoGradientSketches);
    if (farthest.name.empty() || found->distance_rel > farthest.distance_rel) farthest = *found;
  }
  Measurement found{farthest.distance_rel, std::nullopt, ""};
  if (farthest.distance_rel > 0) found.finding = farthest.name;
  return found;
}

Measurement loss_rel(const CellEvidence& cell, const CellEvidence* reference) {
  return largest_distance(cell.repeats[0], reference->repeats[0], "a loss is missing", &largest_loss_distance_rel);
}

// Before the first update both hold the same weights, so this far rounding alone takes them apart.
Measurement first_step_to_cpu_rel(const CellEvidence& cell, const CellEvidence* on_cpu) {
  const Measurement gradients = first_gradient_rel(cell, on_cpu);
  const Measurement loss = largest_distance(cell.repeats[0], on_cpu->repeats[0], "the first step's loss is missing",
                                            &first_loss_distance_rel);
  for (const Measurement* found : {&gradients, &loss}) {
    if (!found->value) return *found;
  }
  Measurement larger = std::isnan(*loss.value) || *loss.value > *gradients.value ? loss : gradients;
  larger.statement = fmt::format("the first step's loss is {:.2g} and its gradients are {:.2g} from those of {}",
                                 *loss.value, *gradients.value, on_cpu->slug);
  return larger;
}

// NVML averages over up to a second itself, so a handful of readings is one number.
constexpr std::int64_t kFewestUtilisationReadings = 8;

// Of the readings while the steps ran that count, so of the SMs under load and not of the start-up.
Measurement utilisation(const AttemptRecord& attempt, const MeasurementSelection&) {
  const auto none = [&](const std::string& why) { return no_value(fmt::format("repeat {} {}", attempt.repeat, why)); };
  if (!attempt.telemetry) return none("had no GPU to read");
  const TelemetrySummary& telemetry = *attempt.telemetry;
  const auto percent = telemetry[Quantity::utilisation_percent];
  if (!percent) return none("has no reading of its GPU's utilisation");
  const std::int64_t gpus = std::max<std::int64_t>(static_cast<std::int64_t>(telemetry.gpus.size()), 1);
  if (telemetry.training_samples / gpus < kFewestUtilisationReadings) {
    return none(fmt::format("trained too briefly: {} readings of its GPU, {} would say something",
                            telemetry.training_samples / gpus, kFewestUtilisationReadings));
  }
  return {static_cast<double>(percent->median) / 100, std::nullopt, ""};
}

Measurement step_energy_j(const AttemptRecord& attempt, const MeasurementSelection&) {
  const auto none = [&](const std::string& why) { return no_value(fmt::format("repeat {}: {}", attempt.repeat, why)); };
  if (!attempt.telemetry) return none("it had no GPU to read");
  if (!attempt.telemetry->step_energy_j) return none(attempt.telemetry->step_energy_missing);
  return {*attempt.telemetry->step_energy_j, std::nullopt, ""};
}

using enum Dimension;
constexpr auto kLower = Better::lower;
constexpr auto kHigher = Better::higher;
constexpr auto kPaired = Aggregate::median_paired;
constexpr auto kWorst = Aggregate::worst;

// The functions of this folder ask for no more than they use; here they become one signature.
template <auto Measure>
Measurement measured_by(const MetricInput& input) {
  using Of = decltype(Measure);
  if constexpr (std::is_invocable_v<Of, const CellEvidence&, const CellEvidence*>) {
    return Measure(input.cell, input.other);
  } else if constexpr (std::is_invocable_v<Of, const AttemptRecord&, const MeasurementSelection&>) {
    return Measure(*input.attempt, *input.of);
  } else {
    const MaybeValue value = Measure(*input.attempt);
    if (value) return {value, std::nullopt, ""};
    return no_value(fmt::format("repeat {} of {} did not record it", input.attempt->repeat, input.cell.slug));
  }
}

template <auto Measure>
constexpr Metric::Function kBy = {&measured_by<Measure>,
                                  std::is_invocable_v<decltype(Measure), const CellEvidence&, const CellEvidence*>};

constexpr Metric over_steps(Metric metric) {
  metric.is_of_steps = true;
  return metric;
}

// Values that can be measured at all, where they are not those from 0 on.
constexpr double kAny = std::numeric_limits<double>::infinity();
constexpr Metric between(double least, double most, Metric metric) {
  metric.info.least = least;
  metric.info.most = most;
  return metric;
}

constexpr Metric of_phases(Metric metric) {
  metric.has_phases = true;
  return metric;
}

constexpr Metric of_steps(const MetricInfo& info, Metric::Function function) {
  return over_steps({info, function, kPaired});
}

constexpr Metric of_all_steps(const MetricInfo& info, Metric::Function function) {
  Metric metric = of_steps(info, function);
  metric.counts_disturbed = true;
  return metric;
}

// clang-format off
constexpr Metric kMetrics[] = {
    // name, unit, better, dimension, what it says; how it is measured; how attempts become one value
    {{"numerics.repeat_mismatches",    "count", kLower,  numerics,   "steps whose digests differ between fresh processes of one stack"},       kBy<&repeat_mismatches>, kWorst},
    {{"numerics.reference_mismatches", "count", kLower,  numerics,   "steps whose digests differ from the reference's"},                       kBy<&reference_mismatches>, kWorst, Against::reference, true},
    {{"numerics.beyond_rounding",      "count", kLower,  numerics,   "differences from the reference that are another computation or a defect"}, kBy<&beyond_rounding>, kWorst, Against::reference},
    {{"numerics.host_mismatches",      "count", kLower,  numerics,   "steps whose digests differ from the same cell's on another host"},       kBy<&host_mismatches>, kWorst, Against::other_host, true},
    {{"numerics.rank_mismatches",      "count", kLower,  numerics,   "steps after which the ranks of a training hold different bits"},         kBy<&differing_ranks_of_training>, kWorst},
    {{"numerics.layout_mismatches",    "count", kLower,  numerics,   "steps of several ranks, of several replicas or with offload, with other bits than one rank that does their micro-batches"}, kBy<&differing_from_one_rank>, kWorst, Against::one_rank},
    {{"numerics.replica_mismatches",   "count", kLower,  numerics,   "steps that the replicas of one process begin, or a state that they end in, with other weights than replica 0"}, kBy<&differing_replicas>, kWorst},
    {{"numerics.resume_mismatches",    "count", kLower,  numerics,   "steps and states that differ once a training was stopped and resumed in another process"}, kBy<&differing_after_resuming>, kWorst},
    {{"numerics.by_construction_mismatches", "count", kLower, numerics, "inputs and initial weights whose digests differ between devices, stacks or processes"}, kBy<&by_construction_mismatches>, kWorst, Against::construction},
    {{"numerics.first_gradient_rel",   "rel",   kLower,  numerics,   "relative L2 distance of the first step's gradients to the reference's"}, kBy<&first_gradient_rel>, kWorst, Against::reference},
    {{"numerics.first_gradient_tensor_rel", "rel", kLower, numerics, "largest relative L2 distance of one parameter's gradient in the first step to the reference's"}, kBy<&first_gradient_tensor_rel>, kWorst, Against::reference},
    {{"numerics.cpu_first_step_rel",   "rel",   kLower,  numerics,   "larger relative distance of the first step's loss and of its gradients to the same training's on the CPU"}, kBy<&first_step_to_cpu_rel>, kWorst, Against::on_cpu},
    {{"numerics.loss_rel",             "rel",   kLower,  numerics,   "largest relative loss difference to the reference over all steps"},      kBy<&loss_rel>, kWorst, Against::reference},
    between(-kAny, kAny, {{"numerics.final_loss",           "loss",  kLower,  numerics,   "loss of the last step"},                                                 kBy<&final_loss>, kWorst}),
    between(-kAny, kAny, {{"numerics.end_loss", "loss",   kLower,  numerics,   "mean loss of the last tenth of the steps, at least five"}, kBy<&end_loss>, kWorst}),
    between(-kAny, 1, {{"numerics.loss_fall_rel", "rel", kHigher, numerics, "share of the first tenth's loss that is gone in the last tenth"}, kBy<&loss_fall_rel>, kWorst}),
    {{kWeightChange, "rel", kLower,      numerics,   "L2 distance of the trained weights from their initial values, as a share of their norm"}, kBy<&weight_change_rel>, kWorst},
    {{"numerics.alike_seeds",          "count", kLower,  numerics,   "other seeds that train the same work, or the same bits"},                kBy<&alike_seeds>, kWorst, Against::seeds},
    {{"numerics.seed_spread_rel",      "rel",   kLower,  numerics,   "from the least to the largest end loss of all seeds, as a share of their mean"}, kBy<&seed_spread_rel>, kWorst, Against::seeds},
    between(0, 1, {{"numerics.skipped_updates", "rel", kLower, numerics, "share of the steps whose update a dynamic loss scale skipped"}, kBy<&skipped_updates>, kWorst}),
    {{"numerics.changed_calls",        "count", kLower,  numerics,   "operator calls whose bits are not the reference's"},                     kBy<&changed_calls>, kWorst, Against::reference},
    {{"numerics.broken_calls",         "count", kLower,  numerics,   "operator calls that are neither equal to the reference's nor rounding"}, kBy<&broken_calls>, kWorst, Against::reference},
    of_phases(of_steps({"throughput.step_time", "ns", kLower, throughput, "median time of a training step after warm-up"},                     kBy<&median_step_time_ns>)),
    of_all_steps({"throughput.mean_step_time", "ns", kLower, throughput, "mean time of all steps of a training, warm-up and stalls included"},   kBy<&mean_step_time_ns>),
    of_all_steps({"throughput.step_time_p99", "ns", kLower, throughput, "99th percentile of the time of a training step after warm-up; of fewer than 100 steps the slowest"}, kBy<&step_time_p99_ns>),
    of_all_steps({"throughput.samples", "1/s",  kHigher, throughput, "training samples a second over the time of all steps, warm-up and stalls included"}, kBy<&samples_per_s>),
    {{"throughput.strong_scaling_efficiency", "rel", kHigher, throughput, "speed of several ranks as a share of as many times one rank's that does all their micro-batches"}, kBy<&strong_scaling_efficiency>, kPaired, Against::one_rank},
    {{"throughput.weak_scaling_efficiency", "rel", kHigher, throughput, "step time of one rank alone as a share of that of several ranks which each do as much as it does"}, kBy<&weak_scaling_efficiency>, kPaired, Against::one_share},
    {{"throughput.start_to_first_step","ns",    kLower,  throughput, "process start to the end of the first step"},                            kBy<&start_to_first_step_ns>, kPaired},
    over_steps({{"throughput.gemm_peak_share", "rel", kHigher, throughput, "floating-point operations a second of the median step as a share of the fastest matrix product of the same process"}, kBy<&gemm_peak_share>, kPaired}),
    over_steps({{"throughput.mfu", "rel", kHigher, throughput, "floating-point operations a second of the median step as a share of the GPU's dense peak by its data sheet"}, kBy<&model_flop_utilisation>, kPaired}),
    between(0, 1, of_steps({"data.wait_share",       "rel",   kLower,  throughput, "share of the time of all steps after warm-up in which there were no samples to compute with"}, kBy<&data_wait_share>)),
    {{"memory.peak_rss",               "bytes", kLower,  memory,     "largest resident set of the worker"},                                    kBy<&peak_rss_bytes>, kWorst},
    between(-kAny, kAny, {{"memory.rss_growth",             "bytes", kLower,  memory,     "growth of the resident set over the second half of the run"},            kBy<&growth_bytes<&StepRecord::rss_bytes>>, kWorst}),
    {{"memory.peak_anonymous",         "bytes", kLower,  memory,     "largest resident set of the worker without mapped files"},               kBy<&peak_anonymous_bytes>, kWorst},
    {{"memory.peak_anonymous_share",   "rel",   kLower,  memory,     "largest resident set without mapped files as a share of the reference's"}, kBy<&peak_anonymous_share>, kWorst, Against::reference},
    between(-kAny, kAny, {{"memory.anonymous_growth",       "bytes", kLower,  memory,     "growth of the worker's memory without mapped files over the second half of the run"}, kBy<&growth_bytes<&StepRecord::anonymous_bytes>>, kWorst}),
    {{"memory.device_peak",            "bytes", kLower,  memory,     "largest sum of the device allocator's live blocks"},                     kBy<&device_peak_bytes>, kWorst},
    {{"memory.optimizer_state_share",  "rel",   kLower,  memory,     "optimizer state of the fullest rank times the number of ranks, as a share of one rank's"}, kBy<&optimizer_state_share>, kWorst, Against::one_rank},
    {{"memory.model_state_share",      "rel",   kLower,  memory,     "parameters, gradients and optimizer state of the fullest rank as a share of one rank's"}, kBy<&model_state_share>, kWorst, Against::one_rank},
    {{"memory.model_state_bound_share", "rel",  kLower,  memory,     "model state of the fullest rank, device and host, as a share of what zero_stage and offload declare"}, kBy<&model_state_bound_share>, kWorst, Against::one_rank},
    {{"memory.device_state_bound_share", "rel", kLower,  memory,     "the same of model state on the training's device, where offload leaves no optimizer state"}, kBy<&device_state_bound_share>, kWorst, Against::one_rank},
    between(0, 1, {{"device.utilisation",       "rel",     kHigher, throughput, "median share of the time in which the GPU's SMs computed while steps were timed"}, kBy<&utilisation>, kPaired}),
    {{"device.step_energy",       "J",       kLower,  throughput, "energy that all GPUs of a training drew for a step, by their own counters"}, kBy<&step_energy_j>, kPaired},
    // Of probes: those measurements that `of` names, among the operations of this unit; how a cell's attempts become one.
    {{"device.wrong_results",     "count",   kLower,  numerics,   "measurements of a probe whose result was wrong", "any"}, kBy<&wrong_results>, kWorst},
    {{"numerics.forward_mismatches",   "count", kLower,  numerics,   "forward passes of the probe `package` whose bits differ between fresh processes of one stack"}, kBy<&forward_mismatches>, kWorst},
    {{"numerics.package_mismatches", "count", kLower, numerics,  "elements of an AOTInductor package's result that have other bits than eager's", "count"}, kBy<&elements_apart>, kWorst},
    {{"device.stress_mismatches", "count",   kLower,  numerics,   "repetitions whose result was not that of the first, bit for bit", "any"}, kBy<&differing_results>, kWorst},
    {{"device.changed_algorithms",     "count", kLower,  numerics,   "operations for which the library took another algorithm than the reference's"}, kBy<&changed_algorithms>, kWorst, Against::reference},
    {{"device.bandwidth",         "GB/s",    kHigher, memory,     "best bandwidth of an operation over its sizes", "GB/s"}, kBy<&best_bandwidth_gb_per_s>, kPaired},
    {{"device.bandwidth_share",   "rel",     kHigher, memory,     "best bandwidth of an operation as a share of `to`", "GB/s", true}, kBy<&best_bandwidth_share>, kPaired},
    {{"device.flop_rate",         "TFLOP/s", kHigher, throughput, "best rate of an operation over its shapes", "TFLOP/s"}, kBy<&best_flop_rate_tflop_per_s>, kPaired},
    {{"device.flop_share",        "rel",     kHigher, throughput, "best rate of an operation as a share of `to`", "TFLOP/s", true}, kBy<&best_flop_share>, kPaired},
    {{"device.latency",           "ns",      kLower,  throughput, "least time of an operation over its sizes", "ns"}, kBy<&best_latency_ns>, kPaired},
    {{"device.capacity",          "bytes",   kHigher, memory,     "memory that was filled, read back and right", "bytes"}, kBy<&verified_bytes>, kWorst},
    // Of collectives: over all ranks of an attempt; of several sizes or repeats the worst one counts, never their mean.
    {{"comm.wrong_results",       "count",   kLower,  communication, "collectives of which a timed call had a wrong result on some rank", "ns"}, kBy<&wrong_collectives>, kWorst},
    {{"comm.call_mismatches",     "count",   kLower,  communication, "repeated sums whose bits are not those of the first call", "ns"}, kBy<&differing_calls>, kWorst},
    {{"comm.rank_mismatches",     "count",   kLower,  communication, "sums of which the ranks hold different bits", "ns"}, kBy<&differing_ranks>, kWorst},
    {{"comm.repeat_mismatches",        "count", kLower,  communication, "sums whose bits differ between fresh processes: another order of summation"}, kBy<&changed_orders_between_repeats>, kWorst},
    {{"comm.reference_mismatches",     "count", kLower,  communication, "sums whose bits differ from the reference's: another order of summation"}, kBy<&changed_orders_to_reference>, kWorst, Against::reference},
    {{"comm.latency_ratio",            "rel",   kLower,  communication, "largest ratio to the reference of a collective's time, of all operations and sizes; the fastest tenth of calls counts"}, kBy<&latency_ratio>, kWorst, Against::reference},
    {{"comm.latency_p50",         "ns",      kLower,  communication, "median time of a call on the slowest rank", "ns"}, kBy<&latency_p50_ns>, kWorst},
    {{"comm.latency_p99",         "ns",      kLower,  communication, "99th percentile of the time of a call on the slowest rank", "ns"}, kBy<&latency_p99_ns>, kWorst},
    {{"comm.algorithm_bandwidth", "GB/s",    kHigher, communication, "bytes of a call by its median time, as nccl-tests has it", "ns"}, kBy<&algorithm_bandwidth_gb_per_s>, kWorst},
    {{"comm.bus_bandwidth",       "GB/s",    kHigher, communication, "algorithm bandwidth times the collective's factor, as nccl-tests has it", "ns"}, kBy<&bus_bandwidth_gb_per_s>, kWorst},
    {{"comm.bus_bandwidth_share", "rel",     kHigher, communication, "bus bandwidth between GPUs as a share of the slowest link between them, one direction", "ns"}, kBy<&bus_bandwidth_share>, kWorst},
    between(0, 1, of_steps({"comm.step_share",       "rel",   kLower,  communication, "share of a training's step time in which the gradients of its micro-batches become one"}, kBy<&communication_share>)),
    between(0, 1, {{"comm.overlap_share",       "rel",     kHigher, communication, "with overlap=on, share of the time of exchanging gradients that the backward pass hides"}, kBy<&overlap_share>, kPaired}),
    {{"comm.startup_time",        "ns",      kLower,  communication, "time of a call without bytes, by a fit over an operation's sizes", "ns"}, kBy<&startup_ns>, kWorst},
    {{"comm.fitted_bandwidth",    "GB/s",    kHigher, communication, "bandwidth of an operation by that fit", "ns"}, kBy<&fitted_bandwidth_gb_per_s>, kWorst},
};
// clang-format on

Compared compared_already(const Metric& metric) {
  if (!metric.function.of_cell) return Compared::not_yet;
  return metric.against == Against::reference ? Compared::with_reference : Compared::with_others;
}

}  // namespace

std::span<const Metric> metrics() { return kMetrics; }

const Metric* find_metric(std::string_view name) {
  const auto found = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                  [&](const Metric& metric) { return metric.info.name == name; });
  return found == std::end(kMetrics) ? nullptr : found;
}

std::span<const MetricInfo> metric_infos() {
  static const std::vector<MetricInfo> kInfos = [] {
    std::vector<MetricInfo> infos;
    for (const Metric& metric : kMetrics) {
      infos.push_back(metric.info);
      infos.back().compared = compared_already(metric);
    }
    return infos;
  }();
  return kInfos;
}

}  // namespace reprobench

#include "matrix/verdict/check.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "matrix/evidence/planned_looks.hpp"
#include "matrix/stats/paired_ratio.hpp"
#include "matrix/stats/robust.hpp"
#include "matrix/verdict/bound_judgement.hpp"
#include "matrix/verdict/metrics/bitwise.hpp"
#include "matrix/verdict/metrics/stalls.hpp"
#include "matrix/verdict/metrics/step_phases.hpp"
#include "matrix/verdict/metrics/time_validity.hpp"

namespace reprobench {
namespace {

// A throughput result of netlib's reference BLAS, 30 to 60 times slower than an optimised one, says nothing about the
// stack.
constexpr std::string_view kReferenceBlas = "netlib";

struct Values {
  std::vector<double> of_attempts;
  std::vector<std::string> findings;  // of each
  std::string missing;                // sentence, if an attempt has no value
};

// Of the first `count` repeats.
Values values_of(const Metric& metric, const CellEvidence& cell, const MeasurementSelection& of, std::size_t count) {
  Values values;
  for (const AttemptRecord& attempt : std::span(cell.repeats).first(count)) {
    const Measurement measurement = metric.of_attempt(cell, attempt, of);
    if (!measurement.value) {
      values.missing = measurement.missing;
      return values;
    }
    values.of_attempts.push_back(*measurement.value);
    values.findings.push_back(measurement.finding);
  }
  return values;
}

double aggregated(const Metric& metric, const std::vector<double>& values) {
  if (std::any_of(values.begin(), values.end(), [](double v) { return !std::isfinite(v); })) return std::nan("");
  if (metric.aggregate == Aggregate::median_paired) return median(values);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return metric.info.better == Better::lower ? *most : *least;
}

// What stands for the repeats: of a band the one farthest out of it, for a repeat below it is not made good by others.
double standing_for(const Metric& metric, const Bound& bound, const std::vector<double>& values) {
  const double worst = aggregated(metric, values);
  if (bound.kind != Bound::Kind::band || !std::isfinite(worst)) return worst;
  const auto beyond = [&](double value) { return std::max(bound.low.value() - value, value - bound.limit); };
  return *std::ranges::max_element(values, {}, beyond);
}

// Of the attempt whose value stands for the cell; a value that is no number stands for it too.
std::optional<int> repeat_with(const CellEvidence& cell, const std::vector<double>& values, double value) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == value || !std::isfinite(values[i])) return cell.repeats[i].repeat;
  }
  return std::nullopt;
}

// Ratio of this cell to the reference, more is worse, with its interval.
std::optional<RatioInterval> ratio_to_reference(const Metric& metric, const std::vector<double>& measured,
                                                const std::vector<double>& reference, double confidence) {
  if (metric.aggregate == Aggregate::median_paired) return paired_ratio(measured, reference, confidence);
  const double ours = aggregated(metric, measured);
  const double theirs = aggregated(metric, reference);
  // The worst process here against the best one there, too: one large process of the reference excuses no other.
  const double best =
      metric.info.better == Better::lower ? *std::ranges::min_element(reference) : *std::ranges::max_element(reference);
  if (!(ours > 0) || !(theirs > 0) || !(best > 0)) return std::nullopt;
  const auto [low, high] = std::minmax({ours / theirs, ours / best});
  return RatioInterval{ours / theirs, low, high, static_cast<int>(std::min(measured.size(), reference.size()))};
}

// Of the attempt that comes nearest to what was judged.
void append_finding(CheckResult& check, const Values& values, double value) {
  const auto nearest = std::min_element(values.of_attempts.begin(), values.of_attempts.end(),
                                        [&](double a, double b) { return std::abs(a - value) < std::abs(b - value); });
  const std::string& finding = values.findings[static_cast<std::size_t>(nearest - values.of_attempts.begin())];
  if (!finding.empty()) check.sentence += "; " + finding;
}

void evaluate_of_attempts(CheckResult& check, const Metric& metric, const CellThreshold& threshold,
                          const CellEvidence& cell, const CellEvidence* reference) {
  const Bound& bound = threshold.bound;
  const Values measured = values_of(metric, cell, threshold.of, cell.repeats.size());
  if (!measured.missing.empty()) return leave_undecided(check, "missing_metric", measured.missing);
  check.samples = static_cast<int>(measured.of_attempts.size());
  const double value = standing_for(metric, bound, measured.of_attempts);
  if (metric.aggregate == Aggregate::worst) check.repeat = repeat_with(cell, measured.of_attempts, value);
  if (check.samples > 1 && std::isfinite(value) && value != 0) {
    check.noise_rel = robust_sd(measured.of_attempts) / std::abs(value);
  }
  if (bound.kind != Bound::Kind::max_regression) {
    judge_absolute(check, bound, value);
    return append_finding(check, measured, value);
  }

  check.measured = value;
  if (!std::isfinite(value)) return reject_not_finite(check);
  const Values expected = values_of(metric, *reference, threshold.of, partners_of(cell, *reference));
  if (!expected.missing.empty()) return leave_undecided(check, "missing_metric", expected.missing);
  check.reference = aggregated(metric, expected.of_attempts);
  if (expected.of_attempts.size() != measured.of_attempts.size()) {
    return leave_undecided(
        check, "unpaired",
        fmt::format("{} repeats here, {} of the reference", measured.of_attempts.size(), expected.of_attempts.size()));
  }
  const double confidence = confidence_of_each(cell.looks.size());
  const auto interval = ratio_to_reference(metric, measured.of_attempts, expected.of_attempts, confidence);
  if (!interval) {
    return leave_undecided(check, "too_few_samples",
                           fmt::format("{} pairs give no {:.3g} % interval of the ratio; {} positive ones would",
                                       measured.of_attempts.size(), confidence * 100, fewest_pairs(confidence)));
  }
  judge_regression(check, metric, bound, *interval);
}

// Of several GPUs: no speed over one link says anything about that over another.
bool over_other_links(const CellEvidence& cell, const CellEvidence& expected) {
  if (cell.links.empty() || expected.links.empty()) return false;
  return cell.links != expected.links || cell.links.size() > 1;
}

// Speed of another device or machine judges no stack, nor does the memory of another device.
std::string other_machine(Dimension dimension, const CellEvidence& cell, const CellEvidence& expected) {
  const bool other_device = cell.device != expected.device;
  const bool other_host = cell.host != expected.host;
  const bool is_speed = dimension == Dimension::throughput || dimension == Dimension::communication;
  if (is_speed && !other_device && !other_host && over_other_links(cell, expected)) {
    return fmt::format("their GPUs were not connected alike: the speed over {} says nothing about that over {}",
                       fmt::join(*expected.links.begin(), "; "), fmt::join(*cell.links.rbegin(), "; "));
  }
  if (is_speed && !other_device && !other_host && cell.run != expected.run) {
    return fmt::format("they did not run side by side: {} is of run {}, {} of run {}", cell.slug, cell.run,
                       expected.slug, expected.run);
  }
  if (!(is_speed && (other_device || other_host)) && !(dimension == Dimension::memory && other_device)) return "";
  const auto place = [&](const CellEvidence& side) {
    return other_host ? fmt::format("{} of host {}", side.device, side.host) : side.device;
  };
  return fmt::format("the {} of {} says nothing about that of {}", is_speed ? "speed" : "memory", place(expected),
                     place(cell));
}

// Across devices and hosts bits are promised to equal fingerprints alone; against another stack of one host and device
// they are counted as they are. A check of the same cell on another host then decides nothing.
void excuse_other_bits(CheckResult& check, const Metric& metric, const CellEvidence& cell,
                       const CellEvidence& expected) {
  if (cell.device == expected.device && cell.host == expected.host) return;
  const std::string why = not_bitwise_because(cell, expected);
  if (why.empty()) return;
  leave_undecided(check, "not_comparable", fmt::format("not comparable bitwise: {}; {}", why, check.sentence));
  if (metric.against == Against::other_host) {
    check.gate = Gate::record_only;
    check.gate_origin = "equal bits are promised to equal fingerprints alone";
  }
}

// Of a value that each pair of repeats has: a bound that their interval reaches over is left to noise, as of a ratio.
void evaluate_of_pairs(CheckResult& check, const Bound& bound, const CellEvidence& cell,
                       const Measurement& measurement) {
  const std::vector<double>& values = measurement.of_pairs;
  check.samples = static_cast<int>(values.size());
  const double confidence = confidence_of_each(cell.looks.size());
  const auto interval = paired_ratio(values, std::vector<double>(values.size(), 1), confidence);
  if (!interval) {
    return leave_undecided(
        check, "too_few_samples",
        fmt::format("{}; {} pairs give no {:.3g} % interval of the efficiency; {} positive ones would",
                    measurement.statement, values.size(), confidence * 100, fewest_pairs(confidence)));
  }
  check.noise_rel = robust_sd(values) / interval->ratio;
  judge_absolute(check, bound, interval->ratio,
                 fmt::format("{}: {:.1f} % [{:.1f}, {:.1f}] of the ideal", measurement.statement, interval->ratio * 100,
                             interval->low * 100, interval->high * 100));
  if (holds_throughout(bound, *interval) || holds_nowhere(bound, *interval)) return;
  leave_undecided(check, "noise",
                  fmt::format("{}; the interval of {} pairs reaches over the bound, {}", check.sentence,
                              interval->pairs, check.bound));
}

void evaluate_of_cell(CheckResult& check, const Metric& metric, const Bound& bound, const CellEvidence& cell,
                      const CellEvidence* reference) {
  const Measurement measurement = metric.of_cell(cell, reference);
  check.samples = static_cast<int>(cell.repeats.size());
  check.divergence = measurement.divergence;
  if (!measurement.of_pairs.empty()) return evaluate_of_pairs(check, bound, cell, measurement);
  if (!measurement.value) return leave_undecided(check, measurement.missing_reason, measurement.missing);
  check.repeat = measurement.repeat;
  judge_absolute(check, bound, *measurement.value, measurement.statement);
  if (!measurement.finding.empty()) check.sentence += "; " + measurement.finding;
  if (check.status == CheckStatus::failed && measurement.at_best && keeps(bound, *measurement.at_best)) {
    leave_undecided(check, "noise",
                    fmt::format("{}; at best it is {:.3g}, because calls may have waited for a core", check.sentence,
                                *measurement.at_best));
  }
  if (metric.compares_bits && check.status == CheckStatus::failed) excuse_other_bits(check, metric, cell, *reference);
}

bool has_reference_blas(const CellEvidence& cell) {
  return cell.repeats.front().lead().result->fingerprint.blas_provider == kReferenceBlas;
}

void say_what_was_disturbed(CheckResult& check, bool counts, const CellEvidence& cell, const CellEvidence* reference) {
  const std::string_view fate = counts ? "were disturbed and count" : "left out";
  const std::string here = disturbed_steps(cell, fate);
  const std::string there = reference == nullptr ? "" : disturbed_steps(*reference, fate);
  if (!here.empty()) check.sentence += "; " + here;
  if (!there.empty()) check.sentence += fmt::format("; of {}: {}", reference->slug, there);
}

// Over all steps, a disturbance makes its side slower and never faster. So it may excuse a cell that failed, and a
// reference that was disturbed may be all that let a cell pass.
void doubt_what_was_disturbed(CheckResult& check, const CellEvidence& cell, const CellEvidence* reference) {
  if (check.status == CheckStatus::inconclusive) return;
  const CellEvidence* slowed = check.status == CheckStatus::failed ? &cell : reference;
  const std::optional<Reason> reason = slowed == nullptr ? std::nullopt : first_disturbance(*slowed);
  if (!reason) return;
  check.gain = false;
  leave_undecided(check, *reason, check.sentence + "; that may be what disturbed them");
}

// Over all steps: whether a few of them are slow, or all.
void follow_into_stalls(CheckResult& check, const CellEvidence& cell) {
  const std::string stalls = stalls_text(cell);
  if (!stalls.empty()) check.sentence += "; " + stalls;
}

// Where a step's time went, and in words which phases moved it where it moved.
void follow_into_phases(CheckResult& check, const CellEvidence& cell, const CellEvidence* reference) {
  if (!check.measured) return;
  check.phases = step_phases(cell, reference);
  const bool moved = check.ratio && (check.status == CheckStatus::failed || check.gain);
  if (moved) check.sentence += "; " + moved_phases(check.phases);
}

// A ratio has two sides, and what compares already has none; empty where the bound fits the metric.
std::string wrong_sort_of_bound(const Metric& metric, const Bound& bound) {
  const bool is_ratio = bound.kind == Bound::Kind::max_regression;
  if (metric.function.of_cell && is_ratio) {
    return fmt::format("{} compares already: it takes `max`, `min` or `equal`, no `max_regression`", metric.info.name);
  }
  if (!metric.function.of_cell && bound.vs_reference && !is_ratio) {
    return fmt::format("{} against the reference is a ratio: it takes `max_regression`, not a limit", metric.info.name);
  }
  return "";
}

CheckResult described(const CellThreshold& threshold) {
  CheckResult check;
  check.metric = threshold.metric;
  check.gate = threshold.gate;
  check.bound = threshold.bound.text;
  check.loosens = threshold.loosens;
  check.limit = threshold.bound.limit;
  check.origin = to_string(threshold.mark);
  check.of = threshold.of.text();
  if (threshold.gate == Gate::record_only) {
    check.gate_origin = to_string(threshold.gate_mark.file.empty() ? threshold.mark : threshold.gate_mark);
  }
  if (const Metric* metric = find_metric(threshold.metric)) {
    check.dimension = metric->info.dimension;
    check.unit = metric->info.unit;
    check.better = metric->info.better;
  }
  return check;
}

}  // namespace

CheckResult undecided(const CellThreshold& threshold, Reason reason, std::string sentence) {
  CheckResult check = described(threshold);
  leave_undecided(check, reason, std::move(sentence));
  return check;
}

Against opposite_of(const CellThreshold& threshold) {
  const Metric* metric = find_metric(threshold.metric);
  if (metric != nullptr && metric->against != Against::nothing) return metric->against;
  return threshold.bound.vs_reference ? Against::reference : Against::nothing;
}

// It may have been repeated further for another cell that noise left open: those have no partner here.
std::size_t partners_of(const CellEvidence& cell, const CellEvidence& reference) {
  const bool is_at_a_look = std::ranges::count(reference.looks, std::ssize(cell.repeats)) > 0;
  return is_at_a_look ? std::min(cell.repeats.size(), reference.repeats.size()) : reference.repeats.size();
}

CheckResult evaluate(const CellThreshold& threshold, const CellEvidence& cell, const ReferenceEvidence& reference) {
  const Metric* metric = find_metric(threshold.metric);
  if (metric == nullptr) return undecided(threshold, "unknown_metric", "this build knows no such metric");
  if (const std::string why = wrong_sort_of_bound(*metric, threshold.bound); !why.empty()) {
    return undecided(threshold, "not_comparable", why);
  }
  const bool compares = opposite_of(threshold) != Against::nothing;
  if (compares && reference.evidence == nullptr) return undecided(threshold, reference.reason, reference.sentence);
  const CellEvidence* expected = compares ? reference.evidence : nullptr;
  if (expected != nullptr) {
    const std::string why = other_machine(metric->info.dimension, cell, *expected);
    if (!why.empty()) return undecided(threshold, "not_comparable", why);
  }
  if (metric->info.dimension == Dimension::throughput &&
      (has_reference_blas(cell) || (expected != nullptr && has_reference_blas(*expected)))) {
    return undecided(threshold, "reference_blas",
                     "the BLAS in use is netlib's reference code; its speed judges no stack");
  }
  if (metric->info.dimension == Dimension::throughput) {
    if (const auto doubt = doubt_about_times(cell, expected))
      return undecided(threshold, doubt->reason, doubt->sentence);
  }
  CheckResult check = described(threshold);
  if (metric->function.of_cell) {
    evaluate_of_cell(check, *metric, threshold.bound, cell, expected);
  } else {
    evaluate_of_attempts(check, *metric, threshold, cell, expected);
  }
  if (metric->has_phases) follow_into_phases(check, cell, expected);
  if (metric->counts_disturbed && check.status == CheckStatus::failed) follow_into_stalls(check, cell);
  if (metric->is_of_steps) say_what_was_disturbed(check, metric->counts_disturbed, cell, expected);
  if (metric->counts_disturbed) doubt_what_was_disturbed(check, cell, expected);
  if (!check.of.empty()) check.sentence = fmt::format("{}: {}", check.of, check.sentence);
  return check;
}

}  // namespace reprobench

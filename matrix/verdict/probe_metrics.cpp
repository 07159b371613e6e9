#include "matrix/verdict/probe_metrics.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "matrix/stats/robust.hpp"
#include "matrix/verdict/call_comparison.hpp"

namespace reprobench {
namespace {

using Selected = std::vector<const ProbeMeasurement*>;

Measurement no_value(std::string why) { return {std::nullopt, std::nullopt, std::move(why)}; }
Measurement value(double value) { return {value, std::nullopt, ""}; }

std::string what_of(const MeasurementSelection& of) {
  MeasurementSelection operation = of;
  operation.share_of.clear();
  return operation.empty() ? "anything" : operation.text();
}

// Of one unit (empty: any) and with that status, among those a threshold is about.
Selected selected(const AttemptRecord& attempt, const MeasurementSelection& of, std::string_view unit,
                  bool (*fits)(const ProbeMeasurement&)) {
  Selected result;
  for (const ProbeMeasurement& measurement : attempt.lead().result->measurements) {
    if (!of.selects(measurement) || (!unit.empty() && measurement.unit != unit) || !fits(measurement)) continue;
    result.push_back(&measurement);
  }
  return result;
}

bool is_any(const ProbeMeasurement&) { return true; }
bool is_measured(const ProbeMeasurement& measurement) { return measurement.status == MeasurementStatus::measured; }
bool is_done(const ProbeMeasurement& measurement) { return measurement.status != MeasurementStatus::unsupported; }

// Why nothing that was asked for can be judged: it was not measured, could not be, or was wrong.
Measurement nothing_selected(const AttemptRecord& attempt, const MeasurementSelection& of, std::string_view unit) {
  const Selected all = selected(attempt, of, unit, &is_any);
  if (all.empty()) return no_value(fmt::format("the probe measured no {}", what_of(of)));
  const auto wrong =
      std::ranges::find(all, MeasurementStatus::wrong, [](const ProbeMeasurement* one) { return one->status; });
  const ProbeMeasurement& reason = wrong == all.end() ? *all.front() : **wrong;
  return no_value(fmt::format("{} was not timed: {}", reason.operation, reason.finding));
}

double value_of(const ProbeMeasurement& measurement) { return median(measurement.samples); }

Measurement best_of(const AttemptRecord& attempt, const MeasurementSelection& of, std::string_view unit,
                    Better better) {
  const Selected measured = selected(attempt, of, unit, &is_measured);
  if (measured.empty()) return nothing_selected(attempt, of, unit);
  std::vector<double> values;
  for (const ProbeMeasurement* measurement : measured) values.push_back(value_of(*measurement));
  const auto [least, most] = std::ranges::minmax(values);
  return value(better == Better::lower ? least : most);
}

Measurement sum_of(const AttemptRecord& attempt, const MeasurementSelection& of,
                   const std::function<std::int64_t(const ProbeMeasurement&)>& count) {
  const Selected done = selected(attempt, of, "", &is_done);
  if (done.empty()) return nothing_selected(attempt, of, "");
  std::int64_t sum = 0;
  for (const ProbeMeasurement* measurement : done) sum += count(*measurement);
  return value(static_cast<double>(sum));
}

std::map<std::string, std::string> without_shape(std::map<std::string, std::string> labels) {
  labels.erase("shape");
  return labels;
}

// What a measurement is divided by, in its unit; nothing if there is none.
std::optional<double> denominator(const AttemptRecord& attempt, const ProbeMeasurement& measurement,
                                  const std::string& share_of) {
  if (share_of == kDataSheetPeak) return measurement.peak;
  std::optional<double> best;
  for (const ProbeMeasurement& other : attempt.lead().result->measurements) {
    if (!is_measured(other) || other.unit != measurement.unit) continue;
    const bool comparable = share_of == kMeasuredPeak
                                ? without_shape(other.labels) == without_shape(measurement.labels)
                                : other.operation == share_of && other.labels == measurement.labels;
    if (comparable) best = std::max(best.value_or(0), value_of(other));
  }
  return best;
}

Measurement best_share(const AttemptRecord& attempt, const MeasurementSelection& of, std::string_view unit) {
  const Selected measured = selected(attempt, of, unit, &is_measured);
  if (measured.empty()) return nothing_selected(attempt, of, unit);
  std::optional<double> best;
  for (const ProbeMeasurement* measurement : measured) {
    const auto whole = denominator(attempt, *measurement, of.share_of);
    if (whole && *whole > 0) best = std::max(best.value_or(0), value_of(*measurement) / *whole);
  }
  if (best) return value(*best);
  if (of.share_of == kDataSheetPeak) {
    const auto& device = attempt.lead().result->fingerprint.device;
    return no_value(
        fmt::format("the facts have no peak of {} for {}", device ? device->name : "this CPU", what_of(of)));
  }
  return no_value(fmt::format("no {} was measured that {} could be a share of", of.share_of, what_of(of)));
}

// Calls of both sides, and how many of them `counts`.
Measurement counted_calls(const CellResult& measured, const CellResult& expected, bool (*counts)(CallWord)) {
  int compared = 0;
  int found = 0;
  int not_compared = 0;
  std::string first;
  for (const ProbeMeasurement& theirs : expected.measurements) {
    if (!theirs.call) continue;
    const std::string& text = theirs.labels.at("call");
    const CallComparison call = compare_calls(find_call(measured.measurements, text), &theirs);
    const bool is_compared =
        call.word != CallWord::absent && call.word != CallWord::not_run && call.word != CallWord::unknown;
    ++(is_compared ? compared : not_compared);
    if (!is_compared || !counts(call.word) || ++found > 1) continue;
    first = fmt::format("{}: {}", text, call.why);
  }
  if (compared == 0) return no_value("no operator call ran on both sides");
  Measurement counted = value(found);
  if (found > 0) counted.finding = found == 1 ? first : fmt::format("first {}", first);
  if (found == 0) {
    counted.statement = fmt::format("0 of {} operator calls", compared);
    if (not_compared > 0) counted.statement += fmt::format("; {} more did not run on both sides", not_compared);
  }
  return counted;
}

bool has_other_bits(CallWord word) { return word != CallWord::equal; }

}  // namespace

Measurement changed_calls_between(const CellResult& measured, const CellResult& expected) {
  return counted_calls(measured, expected, &has_other_bits);
}

Measurement broken_calls_between(const CellResult& measured, const CellResult& expected) {
  return counted_calls(measured, expected, &is_broken);
}

Measurement changed_algorithms_between(const CellResult& measured, const CellResult& expected) {
  int known = 0;
  int changed = 0;
  std::string first;
  for (const ProbeMeasurement& ours : measured.measurements) {
    const auto theirs = std::ranges::find_if(expected.measurements, [&](const ProbeMeasurement& one) {
      return one.operation == ours.operation && one.labels == ours.labels;
    });
    if (ours.algorithm.empty() || theirs == expected.measurements.end() || theirs->algorithm.empty()) continue;
    ++known;
    if (ours.algorithm == theirs->algorithm) continue;
    if (++changed > 1) continue;
    first = fmt::format("{} by {}, the reference's by {}", MeasurementSelection{ours.operation, ours.labels, ""}.text(),
                        ours.algorithm, theirs->algorithm);
  }
  if (known == 0) return no_value("no operation's algorithm is known on both sides");
  Measurement counted = value(changed);
  if (changed > 0) counted.finding = changed == 1 ? first : fmt::format("first {}", first);
  return counted;
}

Measurement wrong_results(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return sum_of(attempt, of, [](const ProbeMeasurement& one) { return one.status == MeasurementStatus::wrong; });
}

Measurement differing_results(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return sum_of(attempt, of, [](const ProbeMeasurement& one) { return one.results_differing; });
}

Measurement best_bandwidth_gb_per_s(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return best_of(attempt, of, "GB/s", Better::higher);
}

Measurement best_flop_rate_tflop_per_s(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return best_of(attempt, of, "TFLOP/s", Better::higher);
}

Measurement best_latency_ns(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return best_of(attempt, of, "ns", Better::lower);
}

Measurement verified_bytes(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return best_of(attempt, of, "bytes", Better::higher);
}

Measurement best_bandwidth_share(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return best_share(attempt, of, "GB/s");
}

Measurement best_flop_share(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return best_share(attempt, of, "TFLOP/s");
}

}  // namespace reprobench

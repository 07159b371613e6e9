#include "matrix/verdict/metrics/probe_metrics.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "matrix/stats/robust.hpp"
#include "matrix/verdict/atlas/call_comparison.hpp"

namespace reprobench {
namespace {

using Selected = std::vector<const ProbeMeasurement*>;

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
bool is_done_here(const ProbeMeasurement& measurement) { return is_done(measurement.status); }

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

// "2 more could not be done, first gemm dtype=fp8: needs sm_89"; empty if all were.
std::string not_done(const AttemptRecord& attempt, const MeasurementSelection& of) {
  const Selected all = selected(attempt, of, "", &is_any);
  const auto lacking = std::ranges::find_if_not(all, [](const ProbeMeasurement* one) { return is_done_here(*one); });
  if (lacking == all.end()) return "";
  const auto done = std::ranges::count_if(all, [](const ProbeMeasurement* one) { return is_done_here(*one); });
  return fmt::format("{} more could not be done, first {}: {}", static_cast<std::ptrdiff_t>(all.size()) - done,
                     MeasurementSelection{(*lacking)->operation, (*lacking)->labels, ""}.text(), (*lacking)->finding);
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
  if (of.share_of == kDataSheetPeak && measured.front()->operation.starts_with("peer_")) {
    return no_value(fmt::format("the host's topology tells no peak of {}", what_of(of)));
  }
  if (of.share_of == kDataSheetPeak) {
    const auto& device = attempt.lead().result->fingerprint.device;
    return no_value(
        fmt::format("the facts have no peak of {} for {}", device ? device->name : "this CPU", what_of(of)));
  }
  return no_value(fmt::format("no {} was measured that {} could be a share of", of.share_of, what_of(of)));
}

// The calls that either side has on record, each once.
std::vector<std::string> calls_of(const CellResult& measured, const CellResult& expected) {
  std::vector<std::string> texts;
  for (const CellResult* side : {&expected, &measured}) {
    for (const ProbeMeasurement& measurement : side->measurements) {
      if (measurement.call &&
          (side == &expected || find_call(expected.measurements, measurement.labels.at("call")) == nullptr)) {
        texts.push_back(measurement.labels.at("call"));
      }
    }
  }
  return texts;
}

// Calls of both sides, and how many of them `counts`. A call that one side cannot make is said; one that it should have
// made and has no record of leaves the count without a value.
Measurement counted_calls(const CellResult& measured, const CellResult& expected, bool (*counts)(CallWord)) {
  int compared = 0;
  int found = 0;
  std::vector<std::string> not_compared;
  std::string first;
  std::string unknown;  // misspelt, or of a release that is neither side's: it was asked, and nobody answered
  for (const std::string& text : calls_of(measured, expected)) {
    const ProbeMeasurement* ours = find_call(measured.measurements, text);
    const ProbeMeasurement* theirs = find_call(expected.measurements, text);
    const CallComparison call = compare_calls(ours, theirs);
    if (ours == nullptr || theirs == nullptr) return no_value(fmt::format("{}: {}", text, call.why));
    const bool is_refused_here = ours->call->end == CallEnd::refused && theirs->call->end == CallEnd::ran;
    const bool is_compared =
        call.word != CallWord::absent && call.word != CallWord::not_run && call.word != CallWord::unknown;
    if (is_compared) ++compared;
    if (is_refused_here || (is_compared && counts(call.word))) {
      if (++found == 1) first = fmt::format("{}: {}", text, call.why);
    } else if (!is_compared) {
      not_compared.push_back(fmt::format("{}: {}", text, call.why));
      const bool is_unknown = ours->call->end == CallEnd::absent && theirs->call->end == CallEnd::absent;
      if (is_unknown && unknown.empty()) unknown = not_compared.back();
    }
  }
  if (found == 0 && !unknown.empty()) return no_value("neither side has " + unknown);
  if (compared == 0 && found == 0) return no_value("no operator call ran on both sides");
  Measurement counted = value(found);
  if (found > 0) {
    counted.finding = found == 1 ? first : fmt::format("first {}", first);
    return counted;
  }
  counted.statement = fmt::format("0 of {} operator calls", compared);
  if (!not_compared.empty()) {
    counted.statement +=
        fmt::format("; {} more did not run on both sides, first {}", not_compared.size(), not_compared.front());
  }
  return counted;
}

// Every process of the cell against every one of the reference: one that gives other bits is enough.
Measurement worst_of_repeats(const CellEvidence& cell, const CellEvidence& reference, bool (*counts)(CallWord)) {
  Measurement worst;
  for (const AttemptRecord& repeat : cell.repeats) {
    for (const AttemptRecord& expected : reference.repeats) {
      Measurement one = counted_calls(*repeat.lead().result, *expected.lead().result, counts);
      if (!one.value) return one;
      one.repeat = repeat.repeat;
      if (!worst.value || *one.value > *worst.value) worst = std::move(one);
    }
  }
  return worst;
}

// Of what the probe `package` ran, by operation and labels: collectives have digests too.
using ForwardDigests = std::map<std::pair<std::string, std::map<std::string, std::string>>, std::string>;
constexpr std::array<std::string_view, 2> kForwardPasses = {"eager_forward", "package_forward"};

ForwardDigests forward_digests(const CellResult& result) {
  ForwardDigests digests;
  for (const ProbeMeasurement& one : result.measurements) {
    if (std::ranges::find(kForwardPasses, one.operation) == kForwardPasses.end()) continue;
    digests[{one.operation, one.labels}] = one.digest;
  }
  return digests;
}

// The first pass that was not made, or whose result has none; empty: both have.
std::string_view without_digest(const ForwardDigests& digests) {
  for (const std::string_view operation : kForwardPasses) {
    const auto is_of = [&](const auto& pass) { return pass.first.first == operation; };
    const auto lacks_one = [&](const auto& pass) { return is_of(pass) && pass.second.empty(); };
    if (std::ranges::none_of(digests, is_of) || std::ranges::any_of(digests, lacks_one)) return operation;
  }
  return {};
}

bool has_other_bits(CallWord word) { return word != CallWord::equal; }

}  // namespace

Measurement changed_calls(const CellEvidence& cell, const CellEvidence* reference) {
  return worst_of_repeats(cell, *reference, &has_other_bits);
}

Measurement broken_calls(const CellEvidence& cell, const CellEvidence* reference) {
  return worst_of_repeats(cell, *reference, &is_broken);
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
  const Selected done = selected(attempt, of, "", &is_done_here);
  if (done.empty()) return nothing_selected(attempt, of, "");
  Measurement wrong = value(0);
  for (const ProbeMeasurement* one : done) {
    if (one->status == MeasurementStatus::wrong && ++*wrong.value == 1) {
      wrong.finding = fmt::format("first {}: {}", one->operation, one->finding);
    }
  }
  if (const std::string rest = not_done(attempt, of); !rest.empty()) {
    wrong.finding += (wrong.finding.empty() ? "" : "; ") + rest;
  }
  return wrong;
}

Measurement differing_results(const AttemptRecord& attempt, const MeasurementSelection& of) {
  const Selected done = selected(attempt, of, "", &is_done_here);
  if (done.empty()) return nothing_selected(attempt, of, "");
  std::int64_t compared = 0;
  std::int64_t differing = 0;
  for (const ProbeMeasurement* one : done) {
    compared += one->results_compared;
    differing += one->results_differing;
  }
  if (compared == 0) return no_value(fmt::format("no result of {} was repeated", what_of(of)));
  return value(static_cast<double>(differing));
}

Measurement forward_mismatches(const CellEvidence& cell, const CellEvidence*) {
  if (cell.repeats.size() < 2) {
    return no_value(fmt::format("needs at least 2 repeats, the cell has {}", cell.repeats.size()));
  }
  const ForwardDigests expected = forward_digests(*cell.repeats.front().lead().result);
  Measurement mismatches = value(0);
  for (const AttemptRecord& attempt : cell.repeats) {
    const ForwardDigests digests = forward_digests(*attempt.lead().result);
    if (const std::string_view lacking = without_digest(digests); !lacking.empty()) {
      return no_value(fmt::format("repeat {} left no digest of {}", attempt.repeat, lacking));
    }
    // Not by std::views::keys: Clang 14 refuses it with GCC 12's library.
    if (!std::ranges::equal(digests, expected, {}, &ForwardDigests::value_type::first,
                            &ForwardDigests::value_type::first)) {
      return no_value(fmt::format("repeat {} made other passes than the first", attempt.repeat));
    }
    for (const auto& [pass, digest] : digests) {
      if (digest != expected.at(pass) && ++*mismatches.value == 1) {
        mismatches.finding = fmt::format("first {} of repeat {}", pass.first, attempt.repeat);
      }
    }
  }
  return mismatches;
}

Measurement elements_apart(const AttemptRecord& attempt, const MeasurementSelection& of) {
  MeasurementSelection of_package = of;  // a threshold need not say it
  if (of_package.operation.empty()) of_package.operation = "package_differs";
  return best_of(attempt, of_package, "count", Better::higher);
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

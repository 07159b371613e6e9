// A probe's record of one operation: every sample, and whether its result was right. A result is checked before it is
// timed; a wrong one is never timed. Measurements are stored in result.json (`measurements`) and, one for each line as
// they arise, in the trace.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/call_record.hpp"
#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"

namespace reprobench {

enum class MeasurementStatus {
  measured,     // the result was right; `samples` holds its times or rates
  wrong,        // the result was wrong: no samples
  unsupported,  // this stack or device cannot do it: no samples
  left_out,     // it could, but too little memory was left when its turn came: no samples
};
constexpr bool is_done(MeasurementStatus status) {
  return status == MeasurementStatus::measured || status == MeasurementStatus::wrong;
}
template <>
struct Words<MeasurementStatus> {
  static constexpr std::array<std::string_view, 4> table = {"measured", "wrong", "unsupported", "left_out"};
};

struct ProbeMeasurement {
  std::string operation;                      // a row of probe.cpp, "triad"
  std::map<std::string, std::string> labels;  // measurement_labels(), "size" -> "64MiB"
  std::string unit;                           // the operation's
  MeasurementStatus status = MeasurementStatus::unsupported;
  std::string finding;  // one sentence: what was wrong, why it cannot be done, or what was seen
  // Relative L2 distance of the result to the same in fp64, and the bound for it. Nothing if the check is exact.
  std::optional<double> error_rel;
  std::optional<double> error_bound_rel;
  std::int64_t results_compared = 0;   // results of repetitions that were compared with the first, bit for bit
  std::int64_t results_differing = 0;  // and those of them that differed
  std::vector<double> samples;         // in `unit`, in the order they were taken
  // When the samples were taken, since the trace's `monotonic_us`. Nothing if none were taken, and in older traces.
  std::optional<std::int64_t> timed_from_ns;
  std::optional<std::int64_t> timed_to_ns;
  // For a collective: the bytes S of its bandwidths (collective.hpp), and the digest of its result on numbers whose sum
  // depends on the order of summation. For a forward pass: the digest of its result.
  std::int64_t bytes = 0;
  std::string digest = {};
  // For a collective between GPUs that reach each other directly: the peak of their slowest link by the host's
  // topology, else the data sheet of their NVLinks. In 1e9 bytes a second, one direction.
  std::optional<double> link_gb_per_s = {};
  // The data sheet's peak, in `unit`; nothing if it is unknown.
  std::optional<double> peak;
  std::string peak_source;  // "H100 SXM, fp32"
  // How the library did it, seen in a call of its own. `algorithm` is a word of
  // suites/worker/probes/library_algorithm.cpp; if it is not known, `algorithm_unknown` says why. Both are empty if no
  // library chose. `kernels` show the algorithm, in order, as the library names them; on a CPU they are the operators
  // that ran and the libraries' calls.
  std::string algorithm;
  std::string algorithm_unknown = {};
  std::vector<std::string> kernels;
  std::optional<CallRecord> call;  // for an operator call: its outputs, to compare with another stack's

  friend bool operator==(const ProbeMeasurement&, const ProbeMeasurement&) = default;
};

template <>
struct Description<ProbeMeasurement> {
  static constexpr About about = About::part("measurement", "What a probe recorded of one operation.");
  static void fields(auto& field, ProbeMeasurement& measurement) {
    field("operation", measurement.operation, rule::not_empty);
    field("labels", measurement.labels,
          "dtype, shape, size, memory, placement, library, call, model, batch: those that apply.");
    field("unit", measurement.unit, rule::not_empty);
    field("status", measurement.status);
    field("finding", measurement.finding);
    field("error_rel", measurement.error_rel, "Relative L2 distance to fp64; null where the check is exact.");
    field("error_bound_rel", measurement.error_bound_rel);
    field("results_compared", measurement.results_compared,
          rule::at_least(0).says("Results of repetitions held against the first, bit for bit."));
    field("results_differing", measurement.results_differing, rule::at_least(0));
    field("samples", measurement.samples,
          "In `unit`, in the order they were taken; none of a result that was not right.");
    field.optional(
        "timed_from_ns", measurement.timed_from_ns,
        rule::at_least(0).says("When the samples were taken, since the trace's monotonic_us; absent where none were."));
    field.optional("timed_to_ns", measurement.timed_to_ns, rule::at_least(0));
    field.optional("bytes", measurement.bytes, rule::at_least(1).says("Of a collective: what its bandwidths are of."));
    field.optional(
        "digest", measurement.digest,
        rule::hex(32, true).says(
            "Of a collective's result of numbers whose sum depends on the order, of a forward pass's result."));
    field.optional(
        "link_gb_per_s", measurement.link_gb_per_s,
        "Of a collective: the slowest link between its GPUs, or their data sheet's NVLinks; absent where not peers.");
    field("peak", measurement.peak, "The data sheet's; null if it is unknown.");
    field("peak_source", measurement.peak_source);
    field("algorithm", measurement.algorithm);
    field.optional(
        "algorithm_unknown", measurement.algorithm_unknown,
        "Why `algorithm` is empty though a library chose one; absent where it is told, and before it was noted.");
    field("kernels", measurement.kernels);
    field.optional("call", measurement.call);
    field.hold(!measurement.link_gb_per_s || *measurement.link_gb_per_s > 0, "has a `link_gb_per_s` of zero or less");
    field.hold(measurement.algorithm.empty() || measurement.algorithm_unknown.empty(),
               "has an `algorithm` and an `algorithm_unknown`");
    const bool is_measured = measurement.status == MeasurementStatus::measured;
    field.hold(!measurement.call || measurement.labels.contains("call"), "has a `call` without its text as a label");
    field.hold(!is_measured || !measurement.samples.empty(), "has no samples, though its status is `measured`");
    field.hold(is_measured || measurement.samples.empty(), "has samples of a result that was not right");
    field.hold(measurement.unit == "count" || measurement.unit == "bits" ||
                   std::ranges::all_of(measurement.samples, [](double sample) { return sample > 0; }),
               "has a time, rate or size of zero or less among its samples");
    field.hold(measurement.timed_from_ns.has_value() == measurement.timed_to_ns.has_value() &&
                   measurement.timed_from_ns <= measurement.timed_to_ns,
               "has a `timed_from_ns` and `timed_to_ns` that are no span of time");
  }
};

// A line of the trace, not of the result: a measurement that goes on, or that is not complete yet, with the samples so
// far. The measurement itself, in a later line, replaces it.
struct ProbeProgress {
  std::string operation;
  std::map<std::string, std::string> labels;
  std::vector<double> samples;
};

template <>
struct Description<ProbeProgress> {
  static constexpr About about = About::line("trace", "progress", "A probe's measurement that is not complete yet.");
  static void fields(auto& field, ProbeProgress& progress) {
    field("operation", progress.operation, rule::not_empty);
    field("labels", progress.labels);
    field("samples", progress.samples);
  }
};

// The measurements of a cell that a threshold is about: all of the operation with these labels, or all there are.
struct MeasurementSelection {
  std::string operation;                      // empty: any
  std::map<std::string, std::string> labels;  // labels that must have this value
  std::string share_of;                       // "peak", "measured_peak" or an operation; empty if no share is meant

  bool empty() const { return operation.empty() && labels.empty() && share_of.empty(); }
  bool selects(const ProbeMeasurement& measurement) const;
  std::string text() const;  // "triad", "gemm dtype=bf16 to peak"; empty if the selection is

  friend bool operator==(const MeasurementSelection&, const MeasurementSelection&) = default;
};

template <>
struct Description<MeasurementSelection> {
  static constexpr About about = About::part("selection", "Which of a probe's measurements a threshold is about.");
  static void fields(auto& field, MeasurementSelection& selection) {
    field("operation", selection.operation);
    field("labels", selection.labels);
    field("share_of", selection.share_of);
  }
};

inline constexpr std::string_view kDataSheetPeak = "peak";
inline constexpr std::string_view kMeasuredPeak = "measured_peak";

nlohmann::json to_json(const ProbeMeasurement& measurement);
nlohmann::json to_json(const ProbeProgress& progress);

// Throws ContractError naming the field.
ProbeMeasurement probe_measurement_from_json(const nlohmann::json& json);

}  // namespace reprobench

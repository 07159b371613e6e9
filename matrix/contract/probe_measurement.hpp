// What a probe recorded of one operation: every sample, and whether its result was right. A result is checked before it
// is timed; a wrong one is never timed. Stored in result.json (`measurements`) and, one a line as they arise, in the
// trace.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace reprobench {

enum class MeasurementStatus {
  measured,     // the result was right; `samples` holds its times or rates
  wrong,        // the result was wrong: no samples
  unsupported,  // this stack or device cannot do it: no samples
};

struct ProbeMeasurement {
  std::string operation;                      // a row of probe.cpp, "triad"
  std::map<std::string, std::string> labels;  // measurement_labels(), "size" -> "64MiB"
  std::string unit;                           // the operation's
  MeasurementStatus status = MeasurementStatus::unsupported;
  std::string finding;  // one sentence: what was wrong, why it cannot be done, or what was seen
  // Relative L2 distance of the result to the same in fp64, and what it may be; nothing where the check is exact.
  std::optional<double> error_rel;
  std::optional<double> error_bound_rel;
  std::int64_t results_compared = 0;   // results of repetitions that were held against the first, bit for bit
  std::int64_t results_differing = 0;  // and those that differed
  std::vector<double> samples;         // in `unit`, in the order they were taken
  // When the samples were taken, since the trace's `monotonic_us`; nothing where none were, and in older traces.
  std::optional<std::int64_t> timed_from_ns;
  std::optional<std::int64_t> timed_to_ns;
  // The data sheet's, in `unit`; nothing if it is unknown.
  std::optional<double> peak;
  std::string peak_source;  // "H100 SXM, fp32"
  // How the library did it: a word of suites/worker/probes/library_algorithm.cpp, empty where the kernels tell nothing;
  // and those kernels, in order, as the library names them (on a CPU the operators that ran). Seen in a call of its
  // own.
  std::string algorithm;
  std::vector<std::string> kernels;

  friend bool operator==(const ProbeMeasurement&, const ProbeMeasurement&) = default;
};

// A line of the trace, not of the result: a measurement that goes on, or that is not complete yet, with the samples it
// has. What replaces it is the measurement itself, in a later line.
struct ProbeProgress {
  std::string operation;
  std::map<std::string, std::string> labels;
  std::vector<double> samples;
};

// Which measurements of a cell a threshold is about: all of the operation with these labels, or all there are.
struct MeasurementSelection {
  std::string operation;                      // empty: any
  std::map<std::string, std::string> labels;  // those that must have this value
  std::string share_of;                       // "peak", "measured_peak" or an operation; empty where no share is meant

  bool empty() const { return operation.empty() && labels.empty() && share_of.empty(); }
  bool selects(const ProbeMeasurement& measurement) const;
  std::string text() const;  // "triad", "gemm dtype=bf16 to peak"; empty if it is

  friend bool operator==(const MeasurementSelection&, const MeasurementSelection&) = default;
};

inline constexpr std::string_view kDataSheetPeak = "peak";
inline constexpr std::string_view kMeasuredPeak = "measured_peak";

std::string_view to_string(MeasurementStatus status);

nlohmann::json to_json(const ProbeMeasurement& measurement);
nlohmann::json to_json(const ProbeProgress& progress);
nlohmann::json to_json(const MeasurementSelection& selection);

// Both throw ContractError naming the field.
ProbeMeasurement probe_measurement_from_json(const nlohmann::json& json);
MeasurementSelection measurement_selection_from_json(const nlohmann::json& json);

}  // namespace reprobench

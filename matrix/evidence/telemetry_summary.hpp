// Summary of the readings of an attempt's GPUs: ranges, why a time measured meanwhile is not valid, and whether the
// device or the program is to blame for a device error. Pure; the same from a run that just ended and from its files
// years later.
//
// A time is invalid, the check that rests on it inconclusive, and the card left alone (reliability rule R11):
//   throttled   the card held itself back: an invalidating clocks event bit (contract/device/clock_event.hpp), or
//               time lost to temperature by the violation counter
//   contended   another process computed on the GPU
//   clock       the SM clock's median moved by more than 5 % between the halves of the training, or, where steps have
//               time stamps, it stayed that far off its median
// Only readings from the time that the attempt trained count. For a probe these are readings while its measurements
// were timed, and its clock is judged within each of them. Where the trace says when each step ended, the steps
// meanwhile are invalid: they are left out, and the others count. Otherwise, or where fewer than half of the steps or
// fewer than six would remain, the whole attempt is invalid.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/device/telemetry.hpp"
#include "matrix/record/telemetry_reader.hpp"
#include "matrix/record/trace_reader.hpp"

namespace reprobench {

inline constexpr std::int64_t kLongestGapPeriods = 10;  // a longer silence is a hole

struct TelemetryRange {
  std::int64_t least = 0;
  std::int64_t median = 0;
  std::int64_t most = 0;
};

// A few readings of the attempt's first GPU, evenly chosen, for a chart.
struct TelemetryPoint {
  std::int64_t at_ns = 0;
  std::optional<std::int64_t> sm_clock_mhz;
  std::optional<std::int64_t> temperature_c;
  std::optional<std::int64_t> power_mw;
  std::optional<std::int64_t> utilisation_percent;
  bool invalidated = false;
};

// Steps whose times do not count, `first` to `last`.
struct LeftOutSteps {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::string reason;  // "throttled", "contended", "clock"
};

struct TelemetrySummary {
  std::vector<TelemetryGpu> gpus;
  std::int64_t samples = 0;
  std::int64_t training_samples = 0;                              // those that count
  std::int64_t invalidated_samples = 0;                           // of these, taken while throttled or contended
  std::array<std::optional<TelemetryRange>, kQuantities> ranges;  // of those that count; the counters as their growth
  std::map<std::string, std::int64_t> clock_events;               // word -> in how many of those that count
  double power_cap_share = 0;                                     // of those that count
  std::vector<std::int64_t> foreign_pids;
  std::vector<TelemetryEvent> events;  // over the whole attempt
  std::string invalid_reason;          // empty: valid, as far as can be told
  std::string invalid_sentence;
  std::int64_t timed_steps = 0;        // after the warm-up, those left out included; 0: it is not known when steps ran
  std::vector<LeftOutSteps> left_out;  // ascending
  std::string left_out_sentence;       // empty: none was
  std::string measurements_invalid;  // reason code: products timed beside steps, while the GPU was held back; empty: no
  std::optional<double> step_energy_j;  // of all GPUs together (step_energy.hpp)
  std::string step_energy_missing;      // why there is none
  std::string problem;                  // empty: complete; else why the telemetry is absent or has holes
  std::vector<TelemetryPoint> series;

  std::optional<TelemetryRange> operator[](Quantity quantity) const {
    return ranges[static_cast<std::size_t>(quantity)];
  }
};

// `trace`: of the same attempt; null if it left none.
TelemetrySummary summarise_telemetry(const TelemetryRecord& record, const Trace* trace = nullptr);

// How many steps were left out, by reason.
std::map<std::string, std::int64_t> count_of_left_out(const TelemetrySummary& telemetry);

// Who is to blame for an event of an attempt.
struct GpuFault {
  bool is_device = false;  // the device's fault and not the program's (rule R12)
  std::string fault;       // "xid 79", "lost", "nvml wait error 999": what a second device must repeat (rule R8)
  std::string uuid;        // of the GPU
  std::string sentence;    // "Xid 79 (GPU has fallen off the bus) on GPU-…"
};
std::vector<GpuFault> faults_of(const TelemetrySummary& telemetry);

// The first fault of the device, else the first fault; nothing if there is none.
std::optional<GpuFault> worst_fault(const TelemetrySummary& telemetry);

}  // namespace reprobench

// telemetry.jsonl: what the GPUs of an attempt did meanwhile, one JSON line a reading, written by the coordinator with
// the line format of trace.jsonl (seq and crc32c, contract/trace.hpp).
//
//   {"kind":"header", ...}   once, first, before the worker starts: whose attempt, which GPUs
//   {"kind":"sample", ...}   a reading of one GPU, ten a second
//   {"kind":"event", ...}    an Xid, a lost GPU, or an error of the event channel itself
//   {"kind":"end", ...}      once, last: how much of the above can be relied upon
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace reprobench {

struct TelemetryGpu {
  std::string uuid;        // "GPU-5c3f…", as NVML prints it
  std::string pci_bus_id;  // "00000000:3B:00.0"
  std::string name;
};

struct TelemetryHeader {
  std::string cell_id;
  std::string nonce;
  std::int64_t period_ns = 0;
  std::vector<TelemetryGpu> gpus;  // in the order of CUDA_VISIBLE_DEVICES
  // CLOCK_MONOTONIC when the file began, as in the trace's header: so readings and steps have one clock. Nothing: a
  // file older than the field.
  std::optional<std::int64_t> monotonic_us{};
};

// What is read of a GPU. To add one: a row in telemetry.cpp (word, bound) and in device/gpu_reading.cpp (how to ask).
enum class Quantity {
  sm_clock_mhz,
  memory_clock_mhz,
  temperature_c,
  power_mw,
  power_limit_mw,
  utilisation_percent,
  memory_used_bytes,
  power_violation_ns,    // time held back by the power limit, summed since the driver was loaded
  thermal_violation_ns,  // by temperature
  ecc_uncorrected,       // since the driver was loaded
  ecc_uncorrected_ever,  // over the life of the card
  pcie_generation,
  pcie_lanes,
  process_memory_bytes,  // of this run's processes
  clock_events,          // bits (clock_event.hpp)
};
inline constexpr std::size_t kQuantities = static_cast<std::size_t>(Quantity::clock_events) + 1;

struct QuantityInfo {
  std::string_view word;
  std::int64_t largest;  // a reading beyond it is garbage and counts as absent
};
const QuantityInfo& info_of(Quantity quantity);

using Quantities = std::array<std::optional<std::int64_t>, kQuantities>;  // by Quantity

struct TelemetrySample {
  std::int64_t at_ns = 0;  // since the header
  int gpu = 0;             // index into the header's
  Quantities values;
  std::vector<std::int64_t> own_pids;      // compute processes of this run
  std::vector<std::int64_t> foreign_pids;  // of somebody else
  std::vector<std::int64_t> hidden_pids;   // not to be seen from here: another PID namespace, or just ended
  std::int64_t trace_bytes = 0;            // length of trace.jsonl: it grows while the attempt trains

  std::optional<std::int64_t> operator[](Quantity quantity) const { return values[static_cast<std::size_t>(quantity)]; }
};

enum class TelemetryEventKind {
  xid,
  lost,        // the GPU no longer answers: NVML_ERROR_GPU_IS_LOST
  wait_error,  // the event channel broke, so device faults would go unseen: every GPU counts as unhealthy
};

struct TelemetryEvent {
  std::int64_t at_ns = 0;
  int gpu = 0;
  TelemetryEventKind kind = TelemetryEventKind::xid;
  int code = 0;  // the Xid's number, or NVML's return code
};

struct TelemetryEnd {
  std::int64_t samples = 0;
  std::int64_t events = 0;
  std::vector<std::string> absent;  // NVML functions this driver does not have
  std::string problem;              // empty: complete; else "NVML did not answer for 2.0 s"
};

nlohmann::json to_json(const TelemetryHeader& header);
nlohmann::json to_json(const TelemetrySample& sample);
nlohmann::json to_json(const TelemetryEvent& event);
nlohmann::json to_json(const TelemetryEnd& end);

// All of them throw ContractError naming the field.
TelemetryHeader telemetry_header_from_json(const nlohmann::json& json);
TelemetrySample telemetry_sample_from_json(const nlohmann::json& json);
TelemetryEvent telemetry_event_from_json(const nlohmann::json& json);
TelemetryEnd telemetry_end_from_json(const nlohmann::json& json);

std::string_view to_string(TelemetryEventKind kind);

}  // namespace reprobench

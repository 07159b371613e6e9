// telemetry.jsonl: what the GPUs of an attempt did during it, one JSON line for each reading. The coordinator writes it
// with the line format of trace.jsonl (seq and crc32c, contract/trace.hpp).
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

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"

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
  // CLOCK_MONOTONIC when the file began, as in the trace's header, so that readings and steps have one clock. Nothing
  // if the file is older than the field.
  std::optional<std::int64_t> monotonic_us{};
};

// The readings of a GPU. To add one: a row in telemetry.cpp (word, bound) and in device/gpu_reading.cpp (how to ask).
enum class Quantity {
  sm_clock_mhz,
  memory_clock_mhz,
  temperature_c,
  power_mw,
  power_limit_mw,
  utilisation_percent,
  memory_used_bytes,
  power_violation_ns,    // time held back by the power limit, summed since the driver was loaded
  thermal_violation_ns,  // the same by temperature
  ecc_uncorrected,       // since the driver was loaded
  ecc_uncorrected_ever,  // over the life of the card
  pcie_generation,
  pcie_lanes,
  process_memory_bytes,  // of this run's processes
  energy_mj,             // drawn since the driver was loaded
  clock_events,          // bits (clock_event.hpp)
};
inline constexpr std::size_t kQuantities = static_cast<std::size_t>(Quantity::clock_events) + 1;

struct QuantityInfo {
  std::string_view word;
  std::int64_t largest;   // a reading beyond it is garbage and counts as absent
  bool is_later = false;  // added in 1.4: a file may lack it, and does if the driver does not report it
};
const QuantityInfo& info_of(Quantity quantity);

using Quantities = std::array<std::optional<std::int64_t>, kQuantities>;  // by Quantity

struct TelemetrySample {
  std::int64_t at_ns = 0;  // since the header
  int gpu = 0;             // index into the header's
  Quantities values;
  std::vector<std::int64_t> own_pids;      // compute processes of this run
  std::vector<std::int64_t> foreign_pids;  // compute processes of somebody else
  std::vector<std::int64_t> hidden_pids;   // cannot be seen from here: in another PID namespace, or just ended
  std::int64_t trace_bytes = 0;            // length of trace.jsonl: it grows while the attempt trains

  std::optional<std::int64_t> operator[](Quantity quantity) const { return values[static_cast<std::size_t>(quantity)]; }
};

enum class TelemetryEventKind {
  xid,
  lost,        // the GPU no longer answers: NVML_ERROR_GPU_IS_LOST
  wait_error,  // the event channel broke, so device faults would go unseen: every GPU counts as unhealthy
};
template <>
struct Words<TelemetryEventKind> {
  static constexpr std::array<std::string_view, 3> table = {"xid", "lost", "wait_error"};
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

template <>
struct Description<TelemetryGpu> {
  static constexpr About about = About::part("gpu");
  static void fields(auto& field, TelemetryGpu& gpu) {
    field("uuid", gpu.uuid);
    field("pci_bus_id", gpu.pci_bus_id);
    field("name", gpu.name);
  }
};

template <>
struct Description<TelemetryHeader> {
  static constexpr About about = About::first_line("telemetry", "header", "Once, first, before the worker starts.");
  static void fields(auto& field, TelemetryHeader& header) {
    field("cell_id", header.cell_id, rule::not_empty);
    field("nonce", header.nonce, rule::not_empty);
    field("period_ns", header.period_ns, rule::at_least(0));
    field("gpus", header.gpus, "In the order of CUDA_VISIBLE_DEVICES.");
    field.optional(
        "monotonic_us", header.monotonic_us,
        rule::time.says("CLOCK_MONOTONIC when the file began. Absent from files before steps had time stamps."));
  }
};

template <>
struct Description<TelemetrySample> {
  static constexpr About about = About::line("telemetry", "sample", "One reading of one GPU.");
  static void fields(auto& field, TelemetrySample& sample) {
    field("at_ns", sample.at_ns, rule::at_least(0).says("Since the header."));
    field("gpu", sample.gpu, rule::between(0, 1024).says("Index into the header's."));
    field("trace_bytes", sample.trace_bytes, rule::at_least(0).says("Length of trace.jsonl at that moment."));
    for (std::size_t i = 0; i < kQuantities; ++i) {
      const QuantityInfo& info = info_of(static_cast<Quantity>(i));
      if (info.is_later) {
        field.optional(info.word.data(), sample.values[i],
                       rule::at_least(0).says("Absent: the driver does not say, or nobody asked."));
      } else {
        field(info.word.data(), sample.values[i],
              rule::at_least(0).says("null: the driver does not say, or says what cannot be."));
      }
    }
    field("own_pids", sample.own_pids, rule::at_least(0));
    field("foreign_pids", sample.foreign_pids, rule::at_least(0));
    field("hidden_pids", sample.hidden_pids, rule::at_least(0));
  }
};

template <>
struct Description<TelemetryEvent> {
  static constexpr About about = About::line("telemetry", "event", "What a GPU reported by itself.");
  static void fields(auto& field, TelemetryEvent& event) {
    field("at_ns", event.at_ns, rule::at_least(0));
    field("gpu", event.gpu, rule::between(0, 1024));
    field("event", event.kind);
    field("code", event.code, "The Xid's number, or NVML's return code.");
  }
};

template <>
struct Description<TelemetryEnd> {
  static constexpr About about = About::line("telemetry", "end", "Once, last.");
  static void fields(auto& field, TelemetryEnd& end) {
    field("samples", end.samples, rule::at_least(0));
    field("events", end.events, rule::at_least(0));
    field("absent", end.absent, "NVML functions this driver does not have.");
    field("problem", end.problem, "Empty: complete.");
  }
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

}  // namespace reprobench

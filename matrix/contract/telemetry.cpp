#include "matrix/contract/telemetry.hpp"

#include <algorithm>

#include "matrix/contract/json_field.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

constexpr const char* kTelemetryDocument = "telemetry";
constexpr std::int64_t kNoBound = std::int64_t{1} << 62;

// By Quantity. The bounds are far beyond any card and only tell a number from garbage.
constexpr std::array<QuantityInfo, kQuantities> kQuantityInfos = {{{"sm_clock_mhz", 10'000},
                                                                   {"memory_clock_mhz", 50'000},
                                                                   {"temperature_c", 200},
                                                                   {"power_mw", 10'000'000},
                                                                   {"power_limit_mw", 10'000'000},
                                                                   {"utilisation_percent", 100},
                                                                   {"memory_used_bytes", std::int64_t{1} << 50},
                                                                   {"power_violation_ns", kNoBound},
                                                                   {"thermal_violation_ns", kNoBound},
                                                                   {"ecc_uncorrected", kNoBound},
                                                                   {"ecc_uncorrected_ever", kNoBound},
                                                                   {"pcie_generation", 16},
                                                                   {"pcie_lanes", 64},
                                                                   {"process_memory_bytes", std::int64_t{1} << 50},
                                                                   {"clock_events", kNoBound}}};

constexpr std::array<std::string_view, 3> kEventWords = {"xid", "lost", "wait_error"};
static_assert(static_cast<std::size_t>(TelemetryEventKind::wait_error) + 1 == kEventWords.size());

template <class T>
T field(const json& object, const char* key) {
  return required<T>(kTelemetryDocument, object, key);
}

std::int64_t not_negative(const json& object, const char* key) {
  const auto value = field<std::int64_t>(object, key);
  if (value < 0) throw ContractError(std::string("telemetry: `") + key + "` is negative");
  return value;
}

int gpu_index(const json& object) {
  return static_cast<int>(std::min<std::int64_t>(not_negative(object, "gpu"), 1024));
}

}  // namespace

const QuantityInfo& info_of(Quantity quantity) { return kQuantityInfos[static_cast<std::size_t>(quantity)]; }

std::string_view to_string(TelemetryEventKind kind) { return kEventWords[static_cast<std::size_t>(kind)]; }

json to_json(const TelemetryHeader& header) {
  json object = document(kTelemetryDocument);
  object["kind"] = "header";
  object["cell_id"] = header.cell_id;
  object["nonce"] = header.nonce;
  object["period_ns"] = header.period_ns;
  object["gpus"] = json::array();
  for (const TelemetryGpu& gpu : header.gpus) {
    object["gpus"].push_back({{"uuid", gpu.uuid}, {"pci_bus_id", gpu.pci_bus_id}, {"name", gpu.name}});
  }
  if (header.monotonic_us) object["monotonic_us"] = *header.monotonic_us;
  return object;
}

TelemetryHeader telemetry_header_from_json(const json& object) {
  require_document(object, kTelemetryDocument);
  TelemetryHeader header;
  header.cell_id = field<std::string>(object, "cell_id");
  header.nonce = field<std::string>(object, "nonce");
  header.period_ns = not_negative(object, "period_ns");
  for (const json& gpu : field<json>(object, "gpus")) {
    header.gpus.push_back(
        {field<std::string>(gpu, "uuid"), field<std::string>(gpu, "pci_bus_id"), field<std::string>(gpu, "name")});
  }
  header.monotonic_us = optional_time(kTelemetryDocument, object, "monotonic_us");
  return header;
}

json to_json(const TelemetrySample& sample) {
  json object = {{"kind", "sample"}, {"at_ns", sample.at_ns}, {"gpu", sample.gpu}, {"trace_bytes", sample.trace_bytes}};
  for (std::size_t i = 0; i < kQuantities; ++i) {
    const auto& value = sample.values[i];
    object[std::string(kQuantityInfos[i].word)] = value ? json(*value) : json(nullptr);
  }
  object["own_pids"] = sample.own_pids;
  object["foreign_pids"] = sample.foreign_pids;
  object["hidden_pids"] = sample.hidden_pids;
  return object;
}

TelemetrySample telemetry_sample_from_json(const json& object) {
  TelemetrySample sample;
  sample.at_ns = not_negative(object, "at_ns");
  sample.gpu = gpu_index(object);
  sample.trace_bytes = not_negative(object, "trace_bytes");
  for (std::size_t i = 0; i < kQuantities; ++i) {
    const std::string word(kQuantityInfos[i].word);
    if (!field<json>(object, word.c_str()).is_null()) sample.values[i] = not_negative(object, word.c_str());
  }
  sample.own_pids = field<std::vector<std::int64_t>>(object, "own_pids");
  sample.foreign_pids = field<std::vector<std::int64_t>>(object, "foreign_pids");
  sample.hidden_pids = field<std::vector<std::int64_t>>(object, "hidden_pids");
  return sample;
}

json to_json(const TelemetryEvent& event) {
  return {{"kind", "event"},
          {"at_ns", event.at_ns},
          {"gpu", event.gpu},
          {"event", to_string(event.kind)},
          {"code", event.code}};
}

TelemetryEvent telemetry_event_from_json(const json& object) {
  TelemetryEvent event;
  event.at_ns = not_negative(object, "at_ns");
  event.gpu = gpu_index(object);
  event.code = field<int>(object, "code");
  const auto word = field<std::string>(object, "event");
  const auto found = std::find(kEventWords.begin(), kEventWords.end(), word);
  if (found == kEventWords.end()) throw ContractError("telemetry: unknown event `" + word + "`");
  event.kind = static_cast<TelemetryEventKind>(found - kEventWords.begin());
  return event;
}

json to_json(const TelemetryEnd& end) {
  return {{"kind", "end"},
          {"samples", end.samples},
          {"events", end.events},
          {"absent", end.absent},
          {"problem", end.problem}};
}

TelemetryEnd telemetry_end_from_json(const json& object) {
  TelemetryEnd end;
  end.samples = not_negative(object, "samples");
  end.events = not_negative(object, "events");
  end.absent = field<std::vector<std::string>>(object, "absent");
  end.problem = field<std::string>(object, "problem");
  return end;
}

}  // namespace reprobench

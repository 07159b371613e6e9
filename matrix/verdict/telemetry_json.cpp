#include "matrix/verdict/telemetry_json.hpp"

#include "matrix/contract/number.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

json optional_integer(const std::optional<std::int64_t>& value) { return value ? json(*value) : json(nullptr); }

json ranges_of(const TelemetrySummary& telemetry) {
  json ranges = json::object();
  for (std::size_t i = 0; i < kQuantities; ++i) {
    const auto quantity = static_cast<Quantity>(i);
    const auto range = telemetry[quantity];
    if (quantity == Quantity::clock_events || !range) continue;  // bits have no median
    ranges[std::string(info_of(quantity).word)] = {
        {"least", range->least}, {"median", range->median}, {"most", range->most}};
  }
  return ranges;
}

}  // namespace

json to_json(const TelemetrySummary& telemetry) {
  json gpus = json::array();
  for (const TelemetryGpu& gpu : telemetry.gpus) {
    gpus.push_back({{"uuid", gpu.uuid}, {"pci_bus_id", gpu.pci_bus_id}, {"name", gpu.name}});
  }
  json faults = json::array();
  for (const GpuFault& fault : faults_of(telemetry)) {
    faults.push_back(
        {{"fault", fault.fault}, {"uuid", fault.uuid}, {"device", fault.is_device}, {"sentence", fault.sentence}});
  }
  json series = json::array();
  for (const TelemetryPoint& point : telemetry.series) {
    series.push_back({{"at_ns", point.at_ns},
                      {"sm_clock_mhz", optional_integer(point.sm_clock_mhz)},
                      {"temperature_c", optional_integer(point.temperature_c)},
                      {"power_mw", optional_integer(point.power_mw)},
                      {"utilisation_percent", optional_integer(point.utilisation_percent)},
                      {"invalidated", point.invalidated}});
  }
  return {{"gpus", std::move(gpus)},
          {"samples", telemetry.samples},
          {"training_samples", telemetry.training_samples},
          {"invalidated_samples", telemetry.invalidated_samples},
          {"ranges", ranges_of(telemetry)},
          {"clock_events", telemetry.clock_events},
          {"power_cap_share", json_number(telemetry.power_cap_share)},
          {"foreign_pids", telemetry.foreign_pids},
          {"faults", std::move(faults)},
          {"invalid_reason", telemetry.invalid_reason},
          {"invalid_sentence", telemetry.invalid_sentence},
          {"timed_steps", telemetry.timed_steps},
          {"steps_left_out", count_of_left_out(telemetry)},
          {"left_out_sentence", telemetry.left_out_sentence},
          {"problem", telemetry.problem},
          {"series", std::move(series)}};
}

}  // namespace reprobench

#include "matrix/contract/device/telemetry.hpp"

#include "matrix/contract/document/reader.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

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
                                                                   {"energy_mj", kNoBound, true},
                                                                   {"clock_events", kNoBound}}};

}  // namespace

const QuantityInfo& info_of(Quantity quantity) { return kQuantityInfos[static_cast<std::size_t>(quantity)]; }

json to_json(const TelemetryHeader& header) { return written(header); }
json to_json(const TelemetrySample& sample) { return written(sample); }
json to_json(const TelemetryEvent& event) { return written(event); }
json to_json(const TelemetryEnd& end) { return written(end); }

TelemetryHeader telemetry_header_from_json(const json& object) { return read_document<TelemetryHeader>(object); }
TelemetrySample telemetry_sample_from_json(const json& object) { return read_document<TelemetrySample>(object); }
TelemetryEvent telemetry_event_from_json(const json& object) { return read_document<TelemetryEvent>(object); }
TelemetryEnd telemetry_end_from_json(const json& object) { return read_document<TelemetryEnd>(object); }

}  // namespace reprobench

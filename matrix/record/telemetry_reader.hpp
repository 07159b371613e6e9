// telemetry.jsonl of one attempt as values.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/device/telemetry.hpp"

namespace reprobench {

struct TelemetryRecord {
  TelemetryHeader header;
  std::vector<TelemetrySample> samples;
  std::vector<TelemetryEvent> events;
  std::optional<TelemetryEnd> end;
  std::string problem;  // with the file: "telemetry.jsonl:118: line cut after 73 bytes; 117 complete lines kept"
};

// Nothing if the file does not exist, because the attempt had no GPU. Never throws because of its content.
std::optional<TelemetryRecord> read_telemetry(const std::filesystem::path& path, const std::string& nonce);

}  // namespace reprobench

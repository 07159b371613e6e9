// telemetry.jsonl while it is written. Two threads use it: the sampler appends, the executor closes.
#pragma once

#include <chrono>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/contract/device/telemetry.hpp"

namespace reprobench {

class TelemetryFile {
 public:
  // Throws StoreError.
  TelemetryFile(const std::filesystem::path& path, const TelemetryHeader& header);

  // Nanoseconds since the header.
  std::int64_t age_ns() const;

  // Ignored once the file is closed. A line that cannot be written is a problem of the telemetry, not of the attempt.
  void append(const TelemetrySample& sample);
  void append(const TelemetryEvent& event);

  void close(std::vector<std::string> absent, std::string problem);

 private:
  void append_line(const nlohmann::json& body);

  std::mutex mutex_;
  FileDescriptor file_;
  std::chrono::steady_clock::time_point started_;
  std::int64_t lines_ = 0;
  TelemetryEnd end_;
};

}  // namespace reprobench

// Appends lines to trace.jsonl. Lines are kept in memory and written between steps: at once for the first ones, then at
// least every second. So the file's growth is the worker's heartbeat, and no write falls into a timed step. Tensors
// that a trace of level `recent` keeps only for a while are written to their segments at the same times, before the
// trace.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "matrix/contract/recent_tensors.hpp"
#include "matrix/contract/trace.hpp"
#include "suites/worker/record/step_line.hpp"

namespace reprobench {

class TraceWriter {
 public:
  // Starts the file anew. Throws std::system_error if it cannot be opened.
  explicit TraceWriter(const std::filesystem::path& path);
  // The same, and writes that header, with the writer's own monotonic_us() in it.
  TraceWriter(const std::filesystem::path& path, TraceHeader header);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void add(const nlohmann::json& body);
  void add(const TensorsRecord& tensors);
  void add(const StepMeasurement& step);
  void add_recent(TensorsRecord tensors);  // level `recent`, before the step's own line

  // Called between steps: writes if a second has passed or much is waiting.
  void write_if_due();

  // Throws std::system_error, for example where the disk is full.
  void write();

  std::int64_t lines() const { return seq_; }

  // The moment that the times in the file count from, for its header.
  std::int64_t monotonic_us() const;
  std::int64_t age_ns(std::chrono::steady_clock::time_point moment) const;

 private:
  std::filesystem::path folder_;
  int file_ = -1;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::int64_t seq_ = 0;
  std::string waiting_;
  std::optional<RecentTensors> recent_;
  std::chrono::steady_clock::time_point last_write_;
};

}  // namespace reprobench

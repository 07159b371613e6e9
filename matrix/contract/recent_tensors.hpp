// The tensors of a training that level `recent` keeps: those of the log-spaced steps and of the last kRecentSteps. So a
// trace of any length is bounded, and still shows the end of a run tensor by tensor, however it ends.
//
// trace.jsonl has the tensors of the log-spaced steps and of the workload's last, as at level `tensor`. Those of other
// steps go to segments beside it. A segment has the format of a trace: the trace's own header first, then up to
// kRecentSteps `tensors` lines of consecutive such steps. The segments are written in turn, and the oldest one is
// overwritten.
//
//   recent-0.jsonl  recent-1.jsonl  recent-2.jsonl
//
// There are three, because a worker may be killed at any moment. The trace says that a step was done only once its
// tensors are written. Until then the steps before it are in two segments that are not being overwritten.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <string_view>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/contract/trace.hpp"

namespace reprobench {

inline constexpr std::int64_t kRecentSteps = 64;
inline constexpr std::array<std::string_view, 3> kRecentSegments = {"recent-0.jsonl", "recent-1.jsonl",
                                                                    "recent-2.jsonl"};

// 1, 2, 5, 10, 20, 50, 100 ...
bool is_log_spaced(std::int64_t step);

// Whether a trace of that level that has reached `last_step` must have the tensors of `step`.
bool keeps_tensors(TraceLevel level, std::int64_t step, std::int64_t last_step);

// Writes the segments. Steps are kept in memory until they are written. If more than kRecentSteps wait, the oldest are
// never written, so a short step costs little and the lines that exist depend on timing.
class RecentTensors {
 public:
  // Starts anew: removes segments that are in the folder. `header` is the trace's.
  RecentTensors(std::filesystem::path folder, nlohmann::json header);

  // Takes steps in ascending order.
  void add(TensorsRecord tensors);

  // Must be called before the trace says that these steps were done. Throws std::system_error.
  void write();

 private:
  void begin_segment();
  void append(std::string_view lines);

  std::filesystem::path folder_;
  nlohmann::json header_;
  std::deque<TensorsRecord> waiting_;
  bool is_interrupted_ = true;  // between the steps in the segment and those waiting, some are missing
  std::size_t segment_ = kRecentSegments.size() - 1;
  FileDescriptor file_;
  std::int64_t lines_ = 0;  // in the segment
};

}  // namespace reprobench

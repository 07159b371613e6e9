// What level `recent` keeps of a training's tensors: those of the log-spaced steps and of the last kRecentSteps, so
// that a trace of any length is bounded and still shows the end of a run tensor by tensor, however it ends.
//
// trace.jsonl holds the tensors of the log-spaced steps and of the workload's last, as at level `tensor`. Those of
// other steps go to segments beside it, which have its format: the trace's own header first, then up to kRecentSteps
// `tensors` lines of consecutive such steps. The segments are written in turn, the oldest one anew.
//
//   recent-0.jsonl  recent-1.jsonl  recent-2.jsonl
//
// Three, because a worker may be killed at any moment: the trace says that a step was done only once its tensors are
// written, and until then the steps before are in two segments that nobody writes anew.
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

// Whether a trace of that level that has come to `last_step` must have the tensors of `step`.
bool keeps_tensors(TraceLevel level, std::int64_t step, std::int64_t last_step);

// Writes the segments. Steps are kept in memory until they are written, and of more than kRecentSteps the oldest are
// never written at all: a short step costs little, and what lines there are is a matter of time.
class RecentTensors {
 public:
  // Starts anew: segments that are in the folder are removed. `header` is the trace's.
  RecentTensors(std::filesystem::path folder, nlohmann::json header);

  // Steps in ascending order.
  void add(TensorsRecord tensors);

  // To be called before the trace says that these steps were done. Throws std::system_error.
  void write();

 private:
  void begin_segment();
  void append(std::string_view lines);

  std::filesystem::path folder_;
  nlohmann::json header_;
  std::deque<TensorsRecord> waiting_;
  bool is_interrupted_ = true;  // between what is in the segment and what is waiting, steps are missing
  std::size_t segment_ = kRecentSegments.size() - 1;
  FileDescriptor file_;
  std::int64_t lines_ = 0;  // of the segment
};

}  // namespace reprobench

// The thread that asks NVML. It may get stuck there for ever, so nobody waits for it without a limit. It shares only
// SamplerState, which lives as long as either side needs it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "matrix/exec/gpu/gpu_telemetry.hpp"
#include "matrix/exec/gpu/telemetry_file.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {

// One attempt under watch.
struct WatchedGpus {
  WatchedGpus(TelemetryHeader about, const std::filesystem::path& folder)
      : header(std::move(about)),
        trace_path(folder / rank_folder_name(0) / "trace.jsonl"),
        file(folder / "telemetry.jsonl", header) {}

  TelemetryHeader header;
  std::filesystem::path trace_path;
  TelemetryFile file;
  std::vector<bool> is_lost = std::vector<bool>(header.gpus.size(), false);  // the sampler's own
  bool knows_wait_error = false;                                             // likewise

  // These two are guarded by SamplerState::mutex.
  bool wants_last_pass = false;
  bool had_last_pass = false;
};

struct SamplerState {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::shared_ptr<WatchedGpus>> watched;
  std::chrono::steady_clock::time_point last_sign_of_life = std::chrono::steady_clock::now();
  std::vector<std::string> absent;
  std::string problem;  // why there is no telemetry at all
  bool quit = false;
  bool has_ended = false;
};

// Starts the thread. It ends when `quit` is set, or at once if the library does not work.
void start_sampler(const TelemetrySettings& settings, std::shared_ptr<SamplerState> state);

}  // namespace reprobench

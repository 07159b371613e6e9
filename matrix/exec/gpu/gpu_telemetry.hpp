// Watches an attempt's GPUs while it runs and writes telemetry.jsonl in the attempt's folder. It only reads from the
// card and never disturbs the attempt: if a library is missing or hangs, only the telemetry is lost.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "matrix/contract/device/telemetry.hpp"
#include "matrix/host/nvml_library.hpp"

namespace reprobench {

// The recording of one attempt. If it is destroyed without stop(), the file has no end line, as after a kill.
class TelemetryRecording {
 public:
  virtual ~TelemetryRecording() = default;

  // Takes a last reading and closes the file. Returns even if the library does not.
  virtual void stop() = 0;
};

// The seam between the executor and the GPUs.
class Telemetry {
 public:
  virtual ~Telemetry() = default;

  // Begins telemetry.jsonl in `folder`. Throws StoreError if it cannot be made.
  virtual std::unique_ptr<TelemetryRecording> start(const TelemetryHeader& header,
                                                    const std::filesystem::path& folder) = 0;
};

struct TelemetrySettings {
  std::string library = nvml_library_path();
  std::string kernel_log = "/dev/kmsg";  // where Xids are read if NVML has no events
  std::chrono::milliseconds period{100};
  std::chrono::milliseconds patience{2'000};  // how long to wait for a library that does not answer
};

// Telemetry through NVML, on one thread of its own for all attempts.
class NvmlTelemetry : public Telemetry {
 public:
  explicit NvmlTelemetry(TelemetrySettings settings = {});
  ~NvmlTelemetry() override;

  std::unique_ptr<TelemetryRecording> start(const TelemetryHeader& header,
                                            const std::filesystem::path& folder) override;

 private:
  TelemetrySettings settings_;
  std::shared_ptr<struct SamplerState> state_;
};

}  // namespace reprobench

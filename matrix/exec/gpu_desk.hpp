// All an execution has to do with GPUs: hands them out, has them watched, takes faulty ones out of service and says
// whether an attempt is worth another try on another one.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "matrix/evidence/repeated_faults.hpp"
#include "matrix/exec/gpu_pool.hpp"
#include "matrix/exec/gpu_telemetry.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {

// What an attempt holds while it runs; empty for one that needs no GPU.
struct AttemptGpus {
  GpuLease lease;
  std::unique_ptr<TelemetryRecording> telemetry;
};

class GpuDesk {
 public:
  // `telemetry` may be null: nothing is watched then.
  GpuDesk(const HostFacts& host, Telemetry* telemetry) : pool_(host.gpus, gpu_lock_folder()), telemetry_(telemetry) {}

  // What the cell needs, now; nothing if that is in use. Always something for a cell of the CPU.
  std::optional<AttemptGpus> try_take(const Cell& cell);

  // Why waiting is in vain; empty: it is not.
  std::string hopeless_because(const Cell& cell) const;

  // Begins to watch, before the worker starts.
  void watch(AttemptGpus& gpus, const CellRequest& request, const std::filesystem::path& folder) const;

  // Stops watching, so that the attempt's folder can be read.
  void stop_watching(AttemptGpus& gpus) const;

  void give_back(const AttemptGpus& gpus) { pool_.give_back(gpus.lease); }

  // A process on these could not be ended: nobody else can use them.
  void quarantine(const AttemptGpus& gpus, const std::string& reason);

  // Draws the consequences of how an attempt ended.
  void note(const Cell& cell, const AttemptRecord& attempt);

  // An infrastructure end is worth another attempt unless the fault has followed the stack to a second device, or no
  // device is left; so is a timed cell whose times are invalid.
  bool is_worth_retrying(const Cell& cell, const AttemptRecord& attempt) const;

 private:
  GpuPool pool_;
  Telemetry* telemetry_;
  RepeatedFaults faults_;
};

}  // namespace reprobench

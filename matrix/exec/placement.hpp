// Decides where attempts run. It hands out the host and its GPUs, has GPUs watched, takes faulty ones out of service,
// and says whether an attempt is worth another try on something else. The scheduler decides when they run
// (scheduler.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "matrix/evidence/repeated_faults.hpp"
#include "matrix/exec/gpu/gpu_pool.hpp"
#include "matrix/exec/gpu/gpu_telemetry.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {

// Why waiting will never bring what a cell needs.
struct Hopeless {
  AttemptEnd end;  // what its attempts end as
  std::string reason;
};

class Placement {
 public:
  // `telemetry` may be null; then nothing is watched.
  Placement(const HostFacts& host, Telemetry* telemetry)
      : pool_(host.gpus, gpu_lock_folder()), topology_(host.topology), telemetry_(telemetry) {}

  // The devices that the cell needs, now; nothing if they are in use. A cell of the CPU needs no GPU and gets an empty
  // lease.
  std::optional<GpuLease> try_take(const Cell& cell);
  void give_back(const GpuLease& lease) { pool_.give_back(lease); }

  std::optional<Hopeless> hopeless_because(const Cell& cell) const;

  // The peak of the slowest pair among these GPUs. Nothing for one GPU, and if the topology does not know every pair.
  std::optional<LinkPeak> link_peak(const GpuLease& lease) const;

  // Begins to watch an attempt's GPUs, before its workers start; null if it has none. Destroying the recording ends
  // that.
  std::unique_ptr<TelemetryRecording> watch(const GpuLease& lease, const CellRequest& request,
                                            const std::filesystem::path& folder) const;

  // Called if a process of this attempt could not be ended. No other attempt can use its GPUs then. If it has none, it
  // still computes on the host, so nothing can be timed beside it.
  void leave_behind(const GpuLease& lease, const Cell& cell);

  // Draws the consequences of an attempt's end.
  void note(const Cell& cell, const AttemptRecord& attempt);

  // An infrastructure end is worth another attempt, unless the fault has followed the stack to a second device or no
  // device is left. A timed cell with invalid times is worth one too.
  bool is_worth_retrying(const Cell& cell, const AttemptRecord& attempt) const;

 private:
  GpuPool pool_;
  std::optional<Topology> topology_;
  std::string host_disturbed_by_;  // empty: timed cells may run
  Telemetry* telemetry_;
  RepeatedFaults faults_;
};

}  // namespace reprobench

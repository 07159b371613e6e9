// Where attempts run: hands out the host and its GPUs, has GPUs watched, takes what is faulty out of service and says
// whether an attempt is worth another try on something else. When they run is the scheduler's (scheduler.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "matrix/evidence/repeated_faults.hpp"
#include "matrix/exec/gpu/gpu_pool.hpp"
#include "matrix/exec/gpu/gpu_telemetry.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {

// Why no wait will ever bring what a cell needs.
struct Hopeless {
  AttemptEnd end;  // what its attempts end as
  std::string reason;
};

class Placement {
 public:
  // `telemetry` may be null: nothing is watched then.
  Placement(const HostFacts& host, Telemetry* telemetry)
      : pool_(host.gpus, gpu_lock_folder()), topology_(host.topology), telemetry_(telemetry) {}

  // What the cell needs, now; nothing if that is in use. A cell of the CPU needs no GPU and gets an empty lease.
  std::optional<GpuLease> try_take(const Cell& cell);
  void give_back(const GpuLease& lease) { pool_.give_back(lease); }

  std::optional<Hopeless> hopeless_because(const Cell& cell) const;

  // Of the slowest pair among these GPUs; nothing of one GPU, and where the topology does not tell of every pair.
  std::optional<LinkPeak> link_peak(const GpuLease& lease) const;

  // Begins to watch an attempt's GPUs, before its workers start; null if it has none. Destroying it ends that.
  std::unique_ptr<TelemetryRecording> watch(const GpuLease& lease, const CellRequest& request,
                                            const std::filesystem::path& folder) const;

  // A process of this attempt could not be ended. Nobody else can use its GPUs; without one it still computes on the
  // host, beside which nothing can be timed.
  void leave_behind(const GpuLease& lease, const Cell& cell);

  // Draws the consequences of how an attempt ended.
  void note(const Cell& cell, const AttemptRecord& attempt);

  // An infrastructure end is worth another attempt unless the fault has followed the stack to a second device, or no
  // device is left; so is a timed cell whose times are invalid.
  bool is_worth_retrying(const Cell& cell, const AttemptRecord& attempt) const;

 private:
  GpuPool pool_;
  std::optional<Topology> topology_;
  std::string host_disturbed_by_;  // empty: timed cells may run
  Telemetry* telemetry_;
  RepeatedFaults faults_;
};

}  // namespace reprobench

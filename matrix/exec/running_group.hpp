// Attempts that were started together, while they run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/attempt_segment.hpp"
#include "matrix/exec/attempt_watch.hpp"
#include "matrix/exec/gpu/gpu_pool.hpp"
#include "matrix/exec/gpu/gpu_telemetry.hpp"
#include "matrix/exec/resident.hpp"
#include "matrix/exec/scheduler.hpp"
#include "matrix/exec/turn_order.hpp"

namespace reprobench {

struct RunningAttempt {
  AttemptTask task;
  CellRequest request;
  std::string folder;  // relative to the run directory
  AttemptHandle handle = 0;
  AttemptWatch watch;
  std::unique_ptr<TelemetryRecording> telemetry;
  std::unique_ptr<Resident> resident;  // null: it takes no turns
  std::size_t member = 0;              // of its group
  int ranks_running = 0;
  AttemptSegment segment = AttemptSegment::whole;  // the one that runs
  AttemptWatch::Time next_disk_look{0};
};

struct RunningGroup {
  TaskGroup tasks;
  GpuLease lease;
  std::vector<RunningAttempt> attempts;  // those that have not ended
  std::size_t begun = 0;                 // members that were started, or could not be
  bool is_worth_retrying = false;        // because of how the attempts that have ended did end
  bool has_product_end = false;
  TurnOrder order{{}};
  std::optional<TurnOrder::Next> turn;  // who has it; nothing before the first turn and after the last one
  bool turns_have_begun = false;

  bool takes_turns() const { return !attempts.empty() && attempts.front().resident != nullptr; }
  bool has_members_to_begin() const { return begun < tasks.members.size(); }
};

// Whether every attempt of the group has loaded. Residents that have are paused; they wait for their turns.
bool all_have_loaded(RunningGroup& group, AttemptWatch::Time now);

// Gives the next turn once the last one is done. The first one waits until every resident has loaded; those that have
// not begun are begun before it is called. Members that wait are paused. A member that has done all its turns may end
// undisturbed before the next turn begins.
void pass_turns(RunningGroup& group, AttemptWatch::Time now);

}  // namespace reprobench

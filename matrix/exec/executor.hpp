// Runs a plan: it decides when each attempt runs and for how long, stops it, and records it.
//
// The scheduler decides which attempts may start, the placement where they run, and the launcher how; this code brings
// the three together. An attempt is over when all its ranks are. A rank that ends badly or hangs takes the others with
// it, and is the one that the record names. Residents of a group take turns by block of steps. An infrastructure end is
// retried with a reason on record (at most twice); a product's end never is (reliability rule R6). If a GPU was
// throttled, contended or changed its clock during a timed attempt, the attempt is measured again, likewise at most
// twice.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "matrix/evidence/run_record.hpp"
#include "matrix/exec/attempt_disk.hpp"
#include "matrix/exec/gpu/gpu_telemetry.hpp"
#include "matrix/exec/launcher.hpp"
#include "matrix/exec/page_cache.hpp"
#include "matrix/exec/ranks/meeting_point.hpp"
#include "matrix/exec/repeats_left.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {

// Injected, so that timers are tested without waiting.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::nanoseconds now() const = 0;  // CLOCK_MONOTONIC
};

class MonotonicClock : public Clock {
 public:
  std::chrono::nanoseconds now() const override;
};

// The user's requests to stop so far; set from signal handlers.
enum class Interrupt : int { none = 0, finish = 1, stop_now = 2 };

struct ExecutionOptions {
  int jobs = 1;
  int fail_fast = 0;  // stop after this many cells with a failing attempt or check; 0: never
  int infra_retries = 2;
  std::chrono::milliseconds retry_backoff{5'000};  // doubles with every retry
  std::chrono::milliseconds queue_limit{0};        // how long an attempt may wait to be started; 0: without limit
  // Free memory of this host. Attempts run side by side if their cells' predicted needs fit into it; 0 if unknown.
  std::int64_t available_bytes = 0;
  const std::atomic<int>* interrupt = nullptr;
  std::chrono::milliseconds launch_within{0};  // after this nothing more is launched; 0: without limit
  DiskBound disk{};                            // of every attempt; one that is over it ends as `disk_limit`
  MeetingPoint meeting{};                      // for ranks that meet at a TCP store
  Telemetry* telemetry = nullptr;  // watches the GPUs of every attempt that has some; null: they are not watched
  // Reads the libraries of stacks anew that are timed against each other on the CPU; null: they stay as they are.
  std::function<ReadAnew(const std::vector<std::vector<std::filesystem::path>>& sides, bool is_reversed)> read_anew;
};

// How a stack's cells are run on this host.
struct WorkerCommand {
  std::vector<std::string> command;                // {"/…/reprobench-worker"}; "run" and request.json are appended
  std::vector<std::string> arguments;              // after them, for example {"--data", "/…/data"}; absolute paths
  std::map<std::string, std::string> environment;  // of the stack; the knobs' variables are added
  std::optional<Enclosure> enclosure = {};         // what it runs inside; nothing: on this host itself
  std::filesystem::path kept_answers = {};         // folder of its answers about memory; empty: it is asked each time
  std::vector<std::filesystem::path> mapped = {};  // files that its processes map: the stack's libraries, the worker
};

// Progress, for the terminal. Called from execute()'s own thread.
struct ExecutionObserver {
  std::function<void(const Cell&, const CellRequest&)> attempt_started;
  std::function<void(const Cell&, const AttemptRecord&)> attempt_ended;
  std::function<void(const Cell&, const CellRecord&)> cell_ended;  // all repeats done, and no more will come
  // Called when all cells that are compared with each other have ended. Returns the ids of those that cannot be decided
  // because of noise. They and their references are repeated up to their next look (evidence/planned_looks.hpp).
  std::function<std::vector<std::string>(const std::vector<const CellRecord*>&)> open_for_noise;
  std::function<void(const Cell&, const FurtherRepeats&)> repeats_added;
  std::function<void(const std::set<std::string>& stacks, const ReadAnew&)> libraries_read_anew;
  // Returns the ids of cells that have failed by their checks, now that this cell ended. They count for fail_fast.
  std::function<std::vector<std::string>(const CellRecord&)> failed_by_checks;
  std::function<void()> tick;  // at least every 200 ms
};

// One record for each cell of the plan, in plan order; skipped cells have no attempts. Troubles of a worker are values
// in the records. StoreError ends the run.
std::vector<CellRecord> execute(const Plan& plan, const std::map<std::string, WorkerCommand>& workers,
                                Launcher& launcher, const Clock& clock, RunDirectory& run,
                                const ExecutionOptions& options, const ExecutionObserver& observer);

}  // namespace reprobench

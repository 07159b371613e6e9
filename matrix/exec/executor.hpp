// Runs a plan: which attempt when, how long, how it is stopped, and what is written down about it.
//
// Which attempts may start is the scheduler's to say, where they run the placement's, and how the launcher's; here the
// three meet. An attempt is over when all its ranks are: one that ends badly or hangs takes the others along, and is
// the one that is named. Residents of a group take turns by block of steps. Infrastructure ends are retried with a
// reason on record (at most twice); a product's end never is (reliability rule R6). A timed attempt whose GPU was
// throttled, contended or changed its clock is measured again, likewise at most twice.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "matrix/evidence/run_record.hpp"
#include "matrix/exec/gpu/gpu_telemetry.hpp"
#include "matrix/exec/launcher.hpp"
#include "matrix/exec/ranks/meeting_point.hpp"
#include "matrix/exec/repeats_left.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {

// Injected so that timers are tested without waiting.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::nanoseconds now() const = 0;  // CLOCK_MONOTONIC
};

class MonotonicClock : public Clock {
 public:
  std::chrono::nanoseconds now() const override;
};

// What the user asked for so far; set from signal handlers.
enum class Interrupt : int { none = 0, finish = 1, stop_now = 2 };

struct ExecutionOptions {
  int jobs = 1;
  int fail_fast = 0;  // stop after this many cells with a failing attempt or check; 0: never
  int infra_retries = 2;
  std::chrono::milliseconds retry_backoff{5'000};  // doubles with every retry
  std::chrono::milliseconds queue_limit{0};        // how long an attempt may wait to be started; 0: for ever
  // Free memory of this host: attempts run side by side if their cells' predicted needs fit into it; 0: unknown.
  std::int64_t available_bytes = 0;
  const std::atomic<int>* interrupt = nullptr;
  MeetingPoint meeting{};          // of ranks that meet at a TCP store
  Telemetry* telemetry = nullptr;  // watches the GPUs of every attempt that has some; null: nobody does
};

// How a stack's cells are run on this host.
struct WorkerCommand {
  std::vector<std::string> command;                // {"/…/reprobench-worker"}; "run" and request.json are appended
  std::vector<std::string> arguments;              // after them, for example {"--data", "/…/data"}; absolute paths
  std::map<std::string, std::string> environment;  // of the stack; the knobs' is added
  std::optional<Enclosure> enclosure = {};         // the image it runs inside; nothing: on this host itself
  std::filesystem::path kept_answers = {};         // folder of what it said of memory; empty: it is asked each time
};

// Progress, for the terminal. Called from execute()'s own thread.
struct ExecutionObserver {
  std::function<void(const Cell&, const CellRequest&)> attempt_started;
  std::function<void(const Cell&, const AttemptRecord&)> attempt_ended;
  std::function<void(const Cell&, const CellRecord&)> cell_ended;  // all repeats done, and no more to come
  // Cells that are compared with each other have all ended. Gives the ids of those that whoever judges cannot decide
  // for noise: they and their references are repeated up to their next look (evidence/planned_looks.hpp).
  std::function<std::vector<std::string>(const std::vector<const CellRecord*>&)> open_for_noise;
  std::function<void(const Cell&, const FurtherRepeats&)> repeats_added;
  // Ids of cells that whoever judges holds failed now that this one ended; they count for fail_fast.
  std::function<std::vector<std::string>(const CellRecord&)> failed_by_checks;
  std::function<void()> tick;  // at least every 200 ms
};

// One record a cell of the plan, in plan order; skipped cells have no attempts. Worker troubles are values in there;
// StoreError ends the run.
std::vector<CellRecord> execute(const Plan& plan, const std::map<std::string, WorkerCommand>& workers,
                                Launcher& launcher, const Clock& clock, RunDirectory& run,
                                const ExecutionOptions& options, const ExecutionObserver& observer);

}  // namespace reprobench

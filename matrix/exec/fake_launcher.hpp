// For tests of the executor: attempts that are scripts on a clock that only moves when somebody waits.
#pragma once

#include <csignal>
#include <fstream>
#include <map>
#include <system_error>

#include "matrix/contract/exit_record.hpp"
#include "matrix/contract/number.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/exec/executor.hpp"

namespace reprobench {

class FakeClock : public Clock {
 public:
  std::chrono::nanoseconds now() const override { return now_; }
  void advance(std::chrono::nanoseconds duration) { now_ += duration; }

 private:
  std::chrono::nanoseconds now_{0};
};

// What one attempt does: heartbeats until `quiet_after`, and an end.
struct FakeAttempt {
  std::chrono::milliseconds ends_after{100};  // negative: never by itself
  std::chrono::milliseconds beats_until{1'000'000'000};
  bool obeys_term = true;
  bool obeys_kill = true;
  bool cannot_start = false;
  bool writes_files = true;  // a complete and valid attempt
  int exit_code = 0;
};

inline FakeAttempt finishes_ok() { return {}; }
inline FakeAttempt exits_with(int code) {
  FakeAttempt attempt;
  attempt.exit_code = code;
  return attempt;
}
inline FakeAttempt hangs() {
  FakeAttempt attempt;
  attempt.ends_after = std::chrono::milliseconds{-1};
  attempt.beats_until = std::chrono::milliseconds{1'000};
  attempt.obeys_term = false;
  return attempt;
}
inline FakeAttempt runs_for_ever() {
  FakeAttempt attempt;
  attempt.ends_after = std::chrono::milliseconds{-1};
  return attempt;
}
inline FakeAttempt is_lost() {
  FakeAttempt attempt;
  attempt.writes_files = false;
  return attempt;
}
inline FakeAttempt cannot_start() {
  FakeAttempt attempt;
  attempt.cannot_start = true;
  return attempt;
}

class FakeLauncher : public Launcher {
 public:
  // One script an attempt, in the order they are started; those beyond the last finish well.
  FakeLauncher(FakeClock& clock, std::vector<FakeAttempt> scripts) : clock_(clock), scripts_(std::move(scripts)) {}

  AttemptHandle start(const LaunchRequest& request) override {
    const std::size_t index = started.size();
    const FakeAttempt script = index < scripts_.size() ? scripts_[index] : finishes_ok();
    started.push_back(request);
    started_at.push_back(clock_.now());
    signals.emplace_back();
    if (script.cannot_start) {
      running_.push_back({script, false});
      throw std::system_error(EAGAIN, std::generic_category(), "cannot start fake");
    }
    running_.push_back({script, true});
    int now_running = 0;
    for (const Running& attempt : running_) now_running += attempt.is_alive ? 1 : 0;
    most_at_once = std::max(most_at_once, now_running);
    return static_cast<AttemptHandle>(index);
  }

  void stop(AttemptHandle handle, StopSignal signal) override {
    const auto index = static_cast<std::size_t>(handle);
    signals[index].push_back(signal == StopSignal::terminate ? SIGTERM : SIGKILL);
    Running& attempt = running_[index];
    const bool obeys = signal == StopSignal::terminate ? attempt.script.obeys_term : attempt.script.obeys_kill;
    if (attempt.is_alive && obeys) attempt.is_stopped = true;
  }

  std::vector<LaunchEvent> wait(std::chrono::milliseconds timeout) override {
    clock_.advance(timeout);
    if (on_wait) on_wait();
    std::vector<LaunchEvent> events;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      Running& attempt = running_[i];
      if (!attempt.is_alive) continue;
      const auto age = clock_.now() - started_at[i];
      const bool ended = attempt.script.ends_after.count() >= 0 && age >= attempt.script.ends_after;
      if (age <= attempt.script.beats_until) {
        events.push_back({static_cast<AttemptHandle>(i), LaunchEvent::Kind::heartbeat, std::nullopt});
      }
      if (!ended && !attempt.is_stopped) continue;
      attempt.is_alive = false;
      if (attempt.script.writes_files && !attempt.is_stopped) write_files(started[i], attempt.script.exit_code);
      events.push_back({static_cast<AttemptHandle>(i), LaunchEvent::Kind::ended, std::nullopt});
    }
    return events;
  }

  std::vector<LaunchRequest> started;
  std::vector<std::chrono::nanoseconds> started_at;
  std::vector<std::vector<int>> signals;  // by attempt
  int most_at_once = 0;
  std::function<void()> on_wait;

 private:
  struct Running {
    FakeAttempt script;
    bool is_alive = false;
    bool is_stopped = false;
  };

  static void write_files(const LaunchRequest& launch, int exit_code) {
    const CellRequest& request = launch.request;
    ExitRecord exit;
    exit.nonce = request.nonce;
    exit.exit_code = exit_code;
    std::ofstream(launch.folder / "exit.json") << to_json(exit).dump();

    const std::string digest(32, 'a');
    std::ofstream trace(launch.folder / "trace.jsonl");
    std::int64_t lines = 0;
    trace << trace_line(to_json(TraceHeader{request.cell_id, request.nonce, digest, request.trace}), lines++);
    for (std::int64_t number = 1; number <= request.workload.steps; ++number) {
      StepRecord step;
      step.step = number;
      step.loss = exact_float(1.0f);
      step.step_time_ns = 1000;
      step.root = digest;
      step.chain = digest;
      trace << trace_line(to_json(step), lines++);
    }
    trace << trace_line(to_json(TensorsRecord{request.workload.steps, true, {}}), lines++);

    CellResult result;
    result.cell_id = request.cell_id;
    result.nonce = request.nonce;
    result.workload_digest = digest;
    result.steps_completed = request.workload.steps;
    result.chain = digest;
    result.trace_lines = lines;
    std::ofstream(launch.folder / "result.json") << to_json(result).dump();
  }

  FakeClock& clock_;
  std::vector<FakeAttempt> scripts_;
  std::vector<Running> running_;
};

}  // namespace reprobench

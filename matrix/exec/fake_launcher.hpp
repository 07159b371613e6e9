// For tests of the executor: attempts are scripts on a clock that moves only when somebody waits.
#pragma once

#include <algorithm>
#include <csignal>
#include <fstream>
#include <system_error>

#include "kernels/digest/digest.hpp"
#include "matrix/base/number.hpp"
#include "matrix/contract/exit_record.hpp"
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

// The script of one attempt, or of one rank: heartbeats until `beats_until`, and an end. Times count from its start.
struct FakeAttempt {
  std::chrono::milliseconds queued_for{0};    // before it starts; for the whole attempt
  std::chrono::milliseconds loads_for{0};     // of a resident: until its trace begins
  std::chrono::milliseconds ends_after{100};  // negative: never ends by itself
  std::chrono::milliseconds beats_until{1'000'000'000};
  bool obeys_term = true;
  bool obeys_kill = true;
  bool cannot_start = false;
  bool writes_files = true;  // a complete and valid attempt
  int exit_code = 0;
  std::vector<FakeAttempt> other_ranks{};  // from rank 1 on; ranks beyond the last do as this one does

  const FakeAttempt& rank(std::size_t number) const {
    return number > 0 && number <= other_ranks.size() ? other_ranks[number - 1] : *this;
  }
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
  // One script for each attempt, in the order in which they start; attempts beyond the last script finish well.
  FakeLauncher(FakeClock& clock, std::vector<FakeAttempt> scripts) : clock_(clock), scripts_(std::move(scripts)) {}

  AttemptHandle start(const LaunchRequest& request) override {
    const std::size_t index = started.size();
    const FakeAttempt script = index < scripts_.size() ? scripts_[index] : finishes_ok();
    started.push_back(request);
    started_at.push_back(clock_.now());
    signals.emplace_back();
    if (script.cannot_start) {
      running_.emplace_back();
      throw std::system_error(EAGAIN, std::generic_category(), "cannot start fake");
    }
    running_.push_back({script, false, std::vector<RunningRank>(request.ranks.size())});
    int now_running = 0;
    for (const Running& attempt : running_) now_running += attempt.is_alive() ? 1 : 0;
    most_at_once = std::max(most_at_once, now_running);
    return static_cast<AttemptHandle>(index);
  }

  void stop(AttemptHandle handle, StopSignal signal) override {
    const auto index = static_cast<std::size_t>(handle);
    signals[index].push_back(signal == StopSignal::terminate ? SIGTERM : SIGKILL);
    Running& attempt = running_[index];
    for (std::size_t number = 0; number < attempt.ranks.size(); ++number) {
      const FakeAttempt& script = attempt.script.rank(number);
      const bool obeys = signal == StopSignal::terminate ? script.obeys_term : script.obeys_kill;
      if (attempt.ranks[number].is_alive && obeys) attempt.ranks[number].is_stopped = true;
    }
  }

  std::vector<LaunchEvent> wait(std::chrono::milliseconds timeout) override {
    clock_.advance(timeout);
    if (on_wait) on_wait();
    std::vector<LaunchEvent> events;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      Running& attempt = running_[i];
      const auto age = clock_.now() - started_at[i] - attempt.script.queued_for;
      const bool starts = !attempt.has_started && age.count() >= 0;
      attempt.has_started = attempt.has_started || starts;
      for (std::size_t number = 0; number < attempt.ranks.size(); ++number) {
        const LaunchEvent event{static_cast<AttemptHandle>(i), static_cast<int>(number), LaunchEvent::Kind::started};
        if (starts) events.push_back(event);
        advance(attempt, event, age, events);
      }
    }
    return events;
  }

  std::vector<LaunchRequest> started;
  std::vector<std::chrono::nanoseconds> started_at;
  std::vector<std::vector<int>> signals;  // by attempt
  int most_at_once = 0;
  std::function<void()> on_wait;
  std::optional<AttemptEnd> end_cause;  // for every end

 private:
  struct RunningRank {
    bool is_alive = true;
    bool is_stopped = false;
  };
  struct Running {
    FakeAttempt script{};
    bool has_started = false;
    std::vector<RunningRank> ranks{};
    bool is_alive() const {
      return std::any_of(ranks.begin(), ranks.end(), [](const RunningRank& rank) { return rank.is_alive; });
    }
  };

  // The events of a rank at this age.
  void advance(Running& attempt, LaunchEvent event, std::chrono::nanoseconds age, std::vector<LaunchEvent>& events) {
    const auto number = static_cast<std::size_t>(event.rank);
    RunningRank& rank = attempt.ranks[number];
    if (!rank.is_alive || (!attempt.has_started && !rank.is_stopped)) return;
    const FakeAttempt& script = attempt.script.rank(number);
    const bool ended = script.ends_after.count() >= 0 && age >= script.ends_after;
    event.kind = LaunchEvent::Kind::heartbeat;
    const RankLaunch& launch = started[static_cast<std::size_t>(event.handle)].ranks[number];
    if (launch.request.turn_steps > 0 && age >= script.loads_for) begin_trace(launch);
    if (attempt.has_started && age <= script.beats_until) events.push_back(event);
    if (!ended && !rank.is_stopped) return;
    rank.is_alive = false;
    if (rank.is_stopped) {
      write_exit(launch, std::nullopt, StoppedBy::runner, age);
    } else if (script.writes_files) {
      write_exit(launch, script.exit_code, StoppedBy::nobody, age);
      write_files(launch);
    }
    event.kind = LaunchEvent::Kind::ended;
    event.cause = end_cause;
    events.push_back(event);
  }

  static void write_exit(const RankLaunch& launch, std::optional<int> exit_code, StoppedBy stopped_by,
                         std::chrono::nanoseconds age) {
    ExitRecord exit;
    exit.nonce = launch.request.nonce;
    exit.rank = launch.request.rank;
    exit.exit_code = exit_code;
    if (!exit_code) exit.signal = SIGTERM;
    exit.stopped_by = stopped_by;
    exit.duration_ns = age.count();
    std::ofstream(launch.folder / "exit.json") << to_json(exit).dump();
  }

  static std::string header_line(const CellRequest& request) {
    return trace_line(
        to_json(TraceHeader{request.cell_id, request.nonce, std::string(32, 'a'), request.trace, {}, request.rank}), 0);
  }

  static void begin_trace(const RankLaunch& launch) {
    const std::filesystem::path path = launch.folder / "trace.jsonl";
    if (!std::filesystem::exists(path)) std::ofstream(path) << header_line(launch.request);
  }

  static void write_files(const RankLaunch& launch) {
    const CellRequest& request = launch.request;
    const std::string digest(32, 'a');
    Digest chain = digest_from_hex(digest).value();
    std::ofstream trace(launch.folder / "trace.jsonl");
    std::int64_t lines = 1;
    trace << header_line(request);
    for (std::int64_t number = 1; number <= request.workload.steps; ++number) {
      StepRecord step;
      step.step = number;
      step.loss = exact_float(1.0f);
      step.step_time_ns = 1000;
      step.phases = {100, 300, 400, 200};
      step.root = digest;
      if (request.turn_steps > 0) step.block = (number - 1) / request.turn_steps;
      chain = step_chain_digest(chain, digest_from_hex(digest).value(), "3f800000");
      step.chain = to_hex(chain);
      trace << trace_line(to_json(step), lines++);
    }
    trace << trace_line(to_json(TensorsRecord{request.workload.steps, true, {}}), lines++);

    CellResult result;
    result.cell_id = request.cell_id;
    result.nonce = request.nonce;
    result.rank = request.rank;
    result.workload_digest = digest;
    result.steps_completed = request.workload.steps;
    result.peak_rss_bytes = 1'000'000;
    result.chain = to_hex(chain);
    result.trace_lines = lines;
    if (request.turn_steps > 0) result.turns_wait.emplace();
    std::ofstream(launch.folder / "result.json") << to_json(result).dump();
  }

  FakeClock& clock_;
  std::vector<FakeAttempt> scripts_;
  std::vector<Running> running_;
};

}  // namespace reprobench

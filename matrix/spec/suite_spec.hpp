// suites/definitions/NAME.yaml: the workloads of a suite, how often they run, and the bounds that their results must
// keep.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/request.hpp"
#include "matrix/spec/threshold.hpp"
#include "matrix/spec/vocabulary.hpp"

namespace reprobench {

// A file with more than these is taken for a typing error (RB021).
inline constexpr std::int64_t kMostSteps = 100'000'000;
inline constexpr std::int64_t kMostRepeats = 1'000;
inline constexpr std::int64_t kMostTurns = 1'000;
inline constexpr std::int64_t kMostSamples = 10'000;

// Durations of one attempt, all measured on CLOCK_MONOTONIC (reliability rule R3).
struct TimeLimits {
  std::chrono::milliseconds first_heartbeat{60'000};  // process start to the first byte of the trace
  std::chrono::milliseconds heartbeat_gap{60'000};
  std::chrono::milliseconds total{600'000};
  std::chrono::milliseconds grace{10'000};  // between TERM and KILL
};
template <>
struct Description<TimeLimits> {
  static constexpr About about = About::part("limits");
  static void fields(auto& field, TimeLimits& limits) {
    field("first_heartbeat_ms", limits.first_heartbeat, rule::at_least(0));
    field("heartbeat_gap_ms", limits.heartbeat_gap, rule::at_least(0));
    field("total_ms", limits.total, rule::at_least(0));
    field("grace_ms", limits.grace, rule::at_least(0));
  }
};

// The limits that a file states; the others keep their values.
struct LimitOverrides {
  std::optional<std::chrono::milliseconds> first_heartbeat;
  std::optional<std::chrono::milliseconds> heartbeat_gap;
  std::optional<std::chrono::milliseconds> total;
  std::optional<std::chrono::milliseconds> grace;

  TimeLimits applied_to(TimeLimits limits) const;
};

struct SuiteSpec {
  std::string name;
  std::string description;
  std::vector<WorkloadRequest> workloads;
  KnobValues knobs;  // fixed by the suite; an axis of the same name overrides them
  TraceLevel trace = TraceLevel::step;
  int repeat = 1;      // fresh processes for each cell
  int max_repeat = 1;  // upper bound: while noise leaves a ratio undecided, they are doubled up to this
  int world_size = 1;  // ranks of each repeat; an axis or `include` overrides it
  bool poison_last_repeat = false;
  bool exclusive = false;  // nothing else runs beside it, because its timings count
  int turns = 0;           // > 1: compared cells run at the same time and take so many turns each
  TimeLimits limits;
  std::vector<ThresholdRule> thresholds;
  Mark mark;
};

// Throws SpecError.
SuiteSpec parse_suite(const std::string& text, const std::string& file, const Vocabulary& vocabulary);
SuiteSpec load_suite(const std::string& path, const Vocabulary& vocabulary);

}  // namespace reprobench

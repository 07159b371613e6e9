// Replays of one step in which its sources are captured and judged: those that take equal values, and those behind
// them, on the values of the expected side (substituted_inputs.hpp).
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "matrix/inquiry/comparison.hpp"
#include "matrix/inquiry/explain/joint_sources.hpp"
#include "matrix/inquiry/explain/side_captures.hpp"
#include "matrix/inquiry/explain/substituted_inputs.hpp"
#include "matrix/numerics/calls/step_divergence.hpp"

namespace reprobench {

// A step with its calls on record, measured side first.
struct ReplayedStep {
  std::int64_t first = 1;  // that its replays begin with
  std::int64_t step = 0;
  std::array<std::filesystem::path, 2> states;  // files of the state before the first one
  std::vector<OperatorRecord> measured;
  std::vector<OperatorRecord> expected;
};

class SourceReplays {
 public:
  enum class Side { measured, expected };

  // Findings are added to `result`; `what` names the replays.
  SourceReplays(const ComparedSide& measured, const ComparedSide& expected, Replays& replays, Explanation& result,
                std::string what = "", Looks looks = Looks::both)
      : measured_(measured),
        expected_(expected),
        replays_(replays),
        result_(result),
        what_(std::move(what)),
        looks_(looks) {}

  std::vector<ReplayOutcome> run_both(const std::string& purpose, const Replay& measured, const Replay& expected);

  void begin(ReplayedStep step);
  Replay step_of(Side side) const;  // from the state before it to its end

  void take_further(DivergencePoint source, bool on_substituted_inputs);
  void judge_sources();

  // `is_known` says whether a source need not be judged again.
  void judge_behind(const std::function<bool(const DivergencePoint&)>& is_known = {});

  // Uses the calls on substituted inputs, if there are any: see StepDivergence.
  const std::optional<std::vector<OperatorRecord>>& from_outside() const { return from_outside_; }

  static std::string not_captured(const FurtherSource& source);

 private:
  struct CapturedSide {
    const SideCaptures& captures;
    const std::filesystem::path& folder;
  };

  void join_sources(const std::string& purpose, const std::vector<OperatorRecord>& our_calls, const Replay& measured,
                    FoundIn found_in);
  void join_on_own_values(Replay substituted);
  std::filesystem::path capture_and_judge(const std::string& purpose, const std::vector<DifferenceSource*>& sources,
                                          Replay measured, Replay expected);
  void judge_captured(DifferenceSource& source, std::size_t number, CapturedSide ours, CapturedSide theirs);
  Replay on_substituted_inputs();
  Replay keeping_values() const;

  const ComparedSide& measured_;
  const ComparedSide& expected_;
  Replays& replays_;
  Explanation& result_;
  std::string what_;
  Looks looks_;
  ReplayedStep step_;
  SubstitutedCalls substituted_;
  std::optional<std::vector<OperatorRecord>> from_outside_;
  std::filesystem::path values_folder_;  // where the expected side's values lie; empty: not kept yet
};

}  // namespace reprobench

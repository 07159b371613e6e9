// Two cells, or a workload on two stacks: equal bits, or the first step, tensor, operator and element that differ, and
// whether the difference is rounding.
//
// Everything up to the tensor comes from the traces. For the rest both sides are replayed: the differing step with
// every operator call on record, then one call with its tensors, then steps from one state on many batches beside fp64.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernels/diff/diff.hpp"
#include "matrix/inquiry/replays.hpp"
#include "matrix/plan/cell.hpp"
#include "matrix/verdict/discrete_events.hpp"
#include "matrix/verdict/divergence.hpp"
#include "matrix/verdict/divergence_strip.hpp"
#include "matrix/verdict/lockstep.hpp"
#include "matrix/verdict/loss_equivalence.hpp"
#include "matrix/verdict/match.hpp"
#include "matrix/verdict/operator_divergence.hpp"
#include "matrix/verdict/snapshot_comparison.hpp"
#include "matrix/verdict/suspect.hpp"
#include "matrix/verdict/tensor_distance.hpp"
#include "matrix/verdict/trajectory.hpp"

namespace reprobench {

// What a stored run knows of a cell beside the attempt that is compared step by step.
struct StoredCell {
  std::string run_id;
  std::string slug;
  std::string host;  // in a merged run
  std::filesystem::path run_folder;
  int repeats_planned = 0;
  std::vector<AttemptRecord> repeats;  // the last attempt of each, in order; without traces
  std::map<int, Injection> injections;
  SharedList<CellThreshold> thresholds;
  std::string wrong_numbers;  // why its numerics failed, in one sentence; empty: they did not
};

// One side of a comparison: what was asked, and how it went.
struct ComparedSide {
  std::string label;  // "torch-2.9.0-cu128", "r-20261121-101502-7f3a:3f9c1e0a7b52"
  CellRequest request;
  AttemptRecord attempt;                  // completed or ended by a loss that is not finite; with its trace
  std::filesystem::path folder;           // of the attempt
  std::optional<StoredCell> stored = {};  // nothing: it was run to be compared
  std::string missing = {};               // why there is no attempt to compare; then the two above mean nothing
};

// The elements of the first differing tensor.
struct ElementFinding {
  std::string tensor;  // "output 0 of aten::addmm", "fc1.weight before step 20"
  std::vector<std::int64_t> shape;
  ElementType type = ElementType::fp32;
  Difference difference;
};

// What one operator made of the same inputs, beside what it makes of them in fp64.
struct OperatorBudget {
  double measured_error_rel = 0;  // e_x, relative L2
  double expected_error_rel = 0;  // e_r
  double distance_rel = 0;        // between the two
  std::optional<double> amplification;
};

struct StateLockstep {
  std::int64_t state = 0;
  Lockstep lockstep;
};

struct Explanation {
  std::optional<OperatorDivergence> call;
  std::vector<std::string> diverging_operators;  // of that step
  std::optional<ElementFinding> element;
  std::optional<OperatorBudget> budget;
  std::string no_budget;  // why there is none
  std::optional<Lockstep> lockstep;
  std::int64_t lockstep_state = 0;             // the step after which the common state was taken
  std::vector<StateLockstep> lockstep_states;  // from further states, if asked for
  Suspect suspect;
  std::vector<std::string> notes;
};

// The side whose loss stops being finite.
struct NonFinite {
  bool is_measured = true;
  std::int64_t step = 0;
  std::string sentence;
};

struct CellComparison {
  std::string measured;
  std::string expected;
  std::string measured_name;  // for people: the slug of a stored cell, before it its run where there are two
  std::string expected_name;
  std::string workload;                // "gpt2/tiny, 20 steps of 8, fp32"
  Match word = Match::not_comparable;  // `equal` is said of all repeats of both sides
  std::string sentence;
  std::vector<std::string> doubts;  // why the repeats of a side are no whole evidence; also in the sentence
  std::vector<CheckResult> ratios;  // of stored cells: time and memory, as far as their suite measures them
  TraceComparison trace;
  std::vector<SideDifference> differences;
  DivergenceStrip strip;  // from here on: of traces of level `tensor`, where bits differ
  std::vector<EventFlips> events;
  std::optional<LossSplit> split;
  std::optional<OverBound> over_bound;
  std::optional<NonFinite> non_finite;
  std::optional<TrajectoryJudgement> trajectory;  // class C, if asked for
  std::optional<LossEquivalence> equivalence;     // class D, if asked for
  std::optional<Explanation> explanation;
  std::vector<std::string> unanswered;  // what was asked for and a replay that failed left unsaid; also in the sentence
};

// Carries out one part of the answer. A replay that fails costs that part alone: it is `unanswered`.
void answer(CellComparison& comparison, const std::string& part, const std::function<void()>& question);

struct ExplainSettings {
  bool explain = false;
  int lockstep_batches = 32;                  // 0: no lockstep
  std::vector<std::int64_t> lockstep_states;  // beside the one before the first difference
};

// Both sides with their traces; a side without evidence is never equal. Throws ReplayInterrupted.
CellComparison compare_cells(const ComparedSide& measured, const ComparedSide& expected,
                             const ExplainSettings& settings, Replays& replays);

nlohmann::json to_json(const CellComparison& comparison);

}  // namespace reprobench

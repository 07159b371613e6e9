// Two cells, or a workload on two stacks: equal bits, or the first step, tensor, operator and element that differ, and
// whether the difference is rounding.
//
// Everything up to the tensor comes from the traces. For the rest both sides are replayed: the differing step with
// every operator call on record, then one call with its tensors, then steps from one state on many batches beside fp64.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "matrix/inquiry/comparison_document.hpp"
#include "matrix/inquiry/replays.hpp"
#include "matrix/plan/cell.hpp"
#include "matrix/plan/compat_facts.hpp"

namespace reprobench {

// The knowledge of a stored run about a cell, beside the attempt that is compared step by step.
struct StoredCell {
  std::string run_id;
  std::string slug;
  std::string host;  // in a merged run
  std::filesystem::path run_folder;
  int repeats_due = 0;
  std::vector<int> looks;              // planned_looks()
  std::vector<AttemptRecord> repeats;  // the last attempt of each, in order; without traces
  std::map<int, Injection> injections;
  SharedList<CellThreshold> thresholds;
  std::string wrong_numbers = {};    // why its numerics failed, in one sentence; empty: they did not
  bool only_repeats_differ = false;  // that sentence is of numerics.repeat_mismatches: its repeats say it themselves
};

// One side of a comparison: its request and its attempt.
struct ComparedSide {
  std::string label;  // "torch-2.9.0-cu128", "r-20261121-101502-348-7f3a:3f9c1e0a7b52"
  CellRequest request;
  AttemptRecord attempt;                  // completed or ended by a loss that is not finite; with its trace
  std::filesystem::path folder;           // of the attempt
  std::optional<StoredCell> stored = {};  // nothing: it was run to be compared
  std::string missing = {};               // why there is no attempt to compare; then the two above mean nothing

  // The side's request, made into this replay.
  CellRequest replayed(Replay replay) const {
    CellRequest again = request;
    again.replay = std::move(replay);
    return again;
  }
};

// Carries out one part of the answer. If a replay fails, only that part is lost; it becomes `unanswered`.
void answer(CellComparison& comparison, const std::string& part, const std::function<void()>& question);

// How many later steps are judged by default. Without them a harmless first difference would hide a later fault.
inline constexpr int kUsualLaterSteps = 2;

struct ExplainSettings {
  bool explain = false;
  int lockstep_batches = 32;                      // 0: no lockstep
  std::vector<std::int64_t> lockstep_states;      // beside the one before the first difference
  int later_steps = 0;                            // at most so many steps behind the first difference are judged, too
  std::filesystem::path bounds_store = {};        // where `calibrate --lockstep` keeps what it learned; empty: nowhere
  std::shared_ptr<const CompatFacts> facts = {};  // known defects of the sides' versions become notes; nothing: none
};

// Both sides with their traces; a side without evidence is never equal. Throws ReplayInterrupted.
CellComparison compare_cells(const ComparedSide& measured, const ComparedSide& expected,
                             const ExplainSettings& settings, Replays& replays);

}  // namespace reprobench

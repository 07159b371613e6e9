// All that `compare` asks of one pair: the comparison, and where bits differ what was asked for beyond it.
#pragma once

#include <set>

#include "matrix/inquiry/compared_sides.hpp"

namespace reprobench {

struct PairQuestions {
  ExplainSettings explain;
  bool trajectory = false;        // class C
  int members = 8;                // of its ensemble
  int seeds = 0;                  // class D; 0: not asked
  std::filesystem::path store;    // keeps envelopes and bounds
  std::set<std::string> devices;  // those a replay can have here: "cpu", "sm_90"
};

// Reads the traces of both sides. What a replay that fails leaves unsaid is in `unanswered` and in the sentence; the
// rest stands. Throws StoreError for a stored trace that is not whole; ReplayInterrupted.
CellComparison inquire(SidePair& pair, const PairQuestions& questions, Replays& replays, const Announce& announce);

// What a difference of bits has to be to fail: any, or by what `--explain` found at least another computation
// (constants differ) or a defect.
enum class FailOn { any, another_computation, defect };

// A pair's word by what fails: a difference that is none of it counts as equal; one that nobody could judge is never
// equal, nor is a loss that is not finite.
Match judged_by(const CellComparison& comparison, FailOn what);

// The word of the whole: what differs wins over what cannot be compared, and that over what is equal. A cell that was
// found no partner is evidence that is missing.
Match overall_word(const std::vector<CellComparison>& comparisons, const StoredPairs& found, FailOn what);

// "8 pairs compared: 6 equal, 1 differ, 1 not comparable; 3 skipped": how many, and what was left out.
std::string count_text(const std::vector<CellComparison>& comparisons, const StoredPairs& found);

}  // namespace reprobench

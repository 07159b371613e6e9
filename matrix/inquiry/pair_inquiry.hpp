// Everything that `compare` asks of one pair: the comparison and, if bits differ, the further questions that were asked
// for.
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

// Reads the traces of both sides. If a replay fails, its part is named in `unanswered` and in the sentence; the rest
// stands. Throws StoreError for a stored trace that is not whole; ReplayInterrupted.
CellComparison inquire(SidePair& pair, const PairQuestions& questions, Replays& replays, const Announce& announce);

// Which differences of bits fail: any, or those that `--explain` found to be at least another computation (constants
// differ), or a defect.
enum class FailOn { any, another_computation, defect };

// The word of a pair under this rule, by what its replays say of the difference. A difference that does not fail counts
// as equal. One that nobody could judge is never equal, nor is a loss that is not finite.
Match judged_by_replays(const CellComparison& comparison, FailOn what);

// The same, and no course that was asked for lies farther off than rounding takes it. A question that got no answer
// leaves it open.
Match judged_by(const CellComparison& comparison, FailOn what);

// The word of all pairs. A difference wins over a pair that cannot be compared, and that wins over equal pairs. A cell
// without a partner is missing evidence.
Match overall_word(const std::vector<CellComparison>& comparisons, const StoredPairs& found, FailOn what);

// The counts, and what was left out: "8 pairs compared: 6 equal, 1 differ, 1 not comparable; 3 skipped".
std::string count_text(const std::vector<CellComparison>& comparisons, const StoredPairs& found);

}  // namespace reprobench

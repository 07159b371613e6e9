// Compares one threshold of one cell with the measurement.
#pragma once

#include "matrix/contract/reason.hpp"
#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// The cell that a check compares this one with: its evidence, or the reason why there is none.
struct ReferenceEvidence {
  const CellEvidence* evidence = nullptr;
  Reason reason;  // why there is none
  std::string sentence;
};

// Which cell a threshold compares with.
Against opposite_of(const CellThreshold& threshold);

// Never passes on evidence that is missing, not finite or not comparable. `cell` holds all repeats of the cell, each
// completed.
CheckResult evaluate(const CellThreshold& threshold, const CellEvidence& cell, const ReferenceEvidence& reference);

// How many of the reference's repeats, from the first on, are compared with those of the cell.
std::size_t partners_of(const CellEvidence& cell, const CellEvidence& reference);

// A check that nobody could evaluate, because the cell did not get that far.
CheckResult undecided(const CellThreshold& threshold, Reason reason, std::string sentence);

}  // namespace reprobench

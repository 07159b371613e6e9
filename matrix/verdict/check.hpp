// One threshold of one cell against what was measured.
#pragma once

#include "matrix/contract/reason.hpp"
#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// The cell a check holds this one against, as the check meets it: evidence, or the reason why there is none.
struct ReferenceEvidence {
  const CellEvidence* evidence = nullptr;
  Reason reason;  // why there is none
  std::string sentence;
};

// Which cell that is.
Against opposite_of(const CellThreshold& threshold);

// Never passes on what is missing, not finite or not comparable. `cell` holds every repeat of the cell, completed.
CheckResult evaluate(const CellThreshold& threshold, const CellEvidence& cell, const ReferenceEvidence& reference);

// How many of the reference's repeats, from the first on, are held against those of the cell.
std::size_t partners_of(const CellEvidence& cell, const CellEvidence& reference);

// A check nobody could evaluate, because the cell did not get that far.
CheckResult undecided(const CellThreshold& threshold, Reason reason, std::string sentence);

// "1.24 ms", "5.00 %", "312.4 MiB": for sentences.
std::string humanised(double value, std::string_view unit);

}  // namespace reprobench

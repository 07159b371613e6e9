// A run diagnoses its own differences. Each cell that has other bits than its reference, and that a check asks about,
// is replayed as `compare RUN --explain --trajectory` would do. The answer becomes evidence of the run.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "matrix/inquiry/pair_inquiry.hpp"

namespace reprobench {

// The answer for one cell; `comparison` is nothing if the pair could not be replayed, or time was up.
struct DiagnosedCell {
  CellDiagnosis diagnosis;
  std::optional<CellComparison> comparison;
};

struct RunDiagnosisSettings {
  PairQuestions questions;
  std::chrono::nanoseconds budget{};                // of all inquiries; one that has begun is finished
  std::function<std::chrono::nanoseconds()> spent;  // since the first began
};

// Whether any cell needs a diagnosis, by what is in memory. So a run with equal bits reads none of its files again.
bool has_difference_to_diagnose(const RunRecord& run);

// The pairs of a run that want a diagnosis: both sides trained, some of their bits differ, and the cell has an armed
// check `numerics.beyond_rounding`. Cells that digest every tensor come first, and among them the longest, because they
// tell most before time is up.
std::vector<SidePair> pairs_to_diagnose(StoredPairs found);

// The diagnosis is rounding only if the first difference, the steps against fp64 and the whole trajectory say so, as
// far as each of these applies to the pair.
CellDiagnosis diagnosis_of(const CellComparison& comparison, const SidePair& pair);

// Diagnoses one pair after the other and hands each answer to `told` at once. Throws ReplayInterrupted; answers up to
// then have been handed over.
void diagnose(std::vector<SidePair> pairs, const RunDiagnosisSettings& settings, Replays& replays,
              const Announce& announce, const std::function<void(const DiagnosedCell&)>& told);

}  // namespace reprobench

// A run asks what its own differences are: each cell whose bits are not its reference's, and that a check asks about,
// is replayed as `compare RUN --explain --trajectory` would, and the answer becomes evidence of the run.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "matrix/inquiry/pair_inquiry.hpp"

namespace reprobench {

// One cell's answer; `comparison` is nothing where the pair could not be asked, or time was up.
struct DiagnosedCell {
  CellDiagnosis diagnosis;
  std::optional<CellComparison> comparison;
};

struct RunDiagnosisSettings {
  PairQuestions questions;
  std::chrono::nanoseconds budget{};                // of all inquiries; one that has begun is finished
  std::function<std::chrono::nanoseconds()> spent;  // since the first began
};

// Whether any cell wants a diagnosis, by what is in memory: a run of equal bits reads none of its files again.
bool has_difference_to_diagnose(const RunRecord& run);

// The pairs of a run that want a diagnosis: both sides trained, some of their bits differ, and the cell has an armed
// check `numerics.beyond_rounding`. What digests every tensor comes first, of those the longest, because they tell most
// before time is up.
std::vector<SidePair> pairs_to_diagnose(StoredPairs found);

// Rounding only where the first difference, the steps against fp64 and the whole trajectory say so, as far as each can
// be asked of the pair.
CellDiagnosis diagnosis_of(const CellComparison& comparison, const SidePair& pair);

// Asks one after the other and hands each answer to `told` as soon as it is there. Throws ReplayInterrupted, after what
// was answered until then.
void diagnose(std::vector<SidePair> pairs, const RunDiagnosisSettings& settings, Replays& replays,
              const Announce& announce, const std::function<void(const DiagnosedCell&)>& told);

}  // namespace reprobench

// Runs with one weight moved by one unit in the last place. They show how far rounding alone drives trainings apart
// (class C).
#pragma once

#include "matrix/inquiry/comparison.hpp"
#include "matrix/numerics/steps/trajectory.hpp"

namespace reprobench {

struct EnsembleEnvelope {
  Envelope envelope;
  std::filesystem::path file;  // under STORE/baselines
  bool is_new = false;         // measured now; false: read from the file
};

// The envelope around `base`, a completed run of trace level `tensor`. It is kept under STORE/baselines, by the
// request, the final bits of the base run and the number of members. `again` measures it anew. Throws UsageError for
// another level or a workload without a weight to move, ReplayFailed, StoreError.
EnsembleEnvelope envelope_around(const ComparedSide& base, int members, bool again, const std::filesystem::path& store,
                                 Replays& replays, const Announce& announce);

}  // namespace reprobench

// How an attempt ended, from the ends of its ranks: as the one that ended it. Ranks that were stopped because of
// another are not to blame, nor are those that failed after it: a peer that vanishes takes the others along.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matrix/evidence/attempt_end.hpp"
#include "matrix/evidence/telemetry_summary.hpp"

namespace reprobench {

// What whoever ran the attempt knows of its end and no file says.
struct KnownEnd {
  std::optional<AttemptEnd> end;  // timeout, hang, interrupted, launch, store
  std::optional<int> rank;        // which rank ended the attempt: the first to end badly, or the silent one
};

struct JudgedAttempt {
  JudgedEnd attempt;                            // names the rank where there are several: "rank 1: SIGKILL ..."
  int ended_by = 0;                             // the rank; of a completed attempt 0
  std::vector<std::optional<JudgedEnd>> ranks;  // nothing: stopped because of another rank
};

// A known end wins over what the files say, and a device fault over both.
JudgedAttempt judge_attempt(const AttemptFiles& files, const std::optional<TelemetrySummary>& telemetry,
                            const CellRequest& request, const KnownEnd& known);

}  // namespace reprobench

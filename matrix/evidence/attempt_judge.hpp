// How an attempt ended, from the ends of its ranks: it ends as the rank that ended it. Ranks that were stopped because
// of another are not to blame, nor are those that failed after it, because a peer that vanishes makes the others fail.
#pragma once

#include <optional>
#include <vector>

#include "matrix/evidence/attempt_end.hpp"
#include "matrix/evidence/telemetry_summary.hpp"

namespace reprobench {

// What the process that ran the attempt knows of its end, and no file says.
struct KnownEnd {
  std::optional<AttemptEnd> end;  // timeout, hang, interrupted, launch, store
  std::optional<int> rank;        // which rank ended the attempt: the first to end badly, or the silent one
};

struct JudgedAttempt {
  JudgedEnd attempt;                            // names the rank where there are several: "rank 1: SIGKILL ..."
  int ended_by = 0;                             // the rank that ended it; 0 if the attempt completed
  std::vector<std::optional<JudgedEnd>> ranks;  // nothing: stopped because of another rank
};

// A known end wins over the files, and a device fault wins over both.
JudgedAttempt judge_attempt(const AttemptFiles& files, const std::optional<TelemetrySummary>& telemetry,
                            const CellRequest& request, const KnownEnd& known);

}  // namespace reprobench

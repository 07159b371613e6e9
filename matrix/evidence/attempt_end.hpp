// How an attempt ended, from what it left. A pass needs positive proof (reliability rule R5): exit 0, nobody stopped
// it, a result and a trace that are whole, of this attempt and of one mind, no process left behind.
#pragma once

#include <optional>
#include <string>

#include "matrix/contract/outcome.hpp"
#include "matrix/evidence/telemetry_summary.hpp"
#include "matrix/record/attempt_files.hpp"

namespace reprobench {

struct JudgedEnd {
  AttemptEnd end = AttemptEnd::lost;
  std::string detail;  // one sentence: "exit code 3", "SIGSEGV; last step 17; stderr: terminate called ..."
};

// `stopped_as` is the end that the executor already knows (timeout, hang, interrupted, launch, store); it wins over
// what the files say, and a device fault over both.
JudgedEnd judge_end(const AttemptFiles& files, const std::optional<TelemetrySummary>& telemetry,
                    const CellRequest& request, std::optional<AttemptEnd> stopped_as);

}  // namespace reprobench

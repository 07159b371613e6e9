// How a cell ended: by its attempts alone if one of them did not complete, else by its checks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/reason.hpp"
#include "matrix/evidence/repeated_faults.hpp"
#include "matrix/verdict/check.hpp"

namespace reprobench {

struct Ended {
  Outcome outcome;
  Reason reason;
  std::string sentence;
  std::optional<int> repeat = {};  // the repeat that decided it; nothing: no single one did
  std::string metric = {};         // of the failed check, and then the reason that the verdict gives
};

// The attempt that counts for each repeat is its last; nothing if a repeat was never started.
std::vector<const AttemptRecord*> last_attempts(const Cell& cell, const CellRecord& record);

// The outcome that attempts alone decide, worst first; nothing if every repeat completed. A device fault that followed
// the stack to a second device is the stack's.
std::optional<Ended> ended_early(const Cell& cell, const std::vector<const AttemptRecord*>& last,
                                 const std::string& stack, const RepeatedFaults& faults);

// Nothing if the repeats did not run the same workload.
std::optional<std::string> common_workload_digest(const std::vector<const AttemptRecord*>& repeats);

// The check for a question that a required cell cannot answer. No matrix can disarm it.
CheckResult unanswered(const Gap& gap);

Ended from_checks(const std::vector<CheckResult>& checks);

// Equal NaNs in every process are perfectly reproducible, but no training. Such a cell fails, whatever the thresholds
// say, by a check that no matrix can disarm.
std::optional<CheckResult> non_finite_loss(const CellEvidence& evidence);

// The same for weights, their gradients and the optimizer's state, as far as sketches tell. For buffers it looks for
// NaN alone.
std::optional<CheckResult> non_finite_tensor(const CellEvidence& evidence);

// Loss and gradient norm of a step are those of all ranks together, so each rank has the same. Ranks that exchange
// nothing train faster and learn as well. Such a cell fails by a check that no matrix can disarm.
std::optional<CheckResult> ranks_apart(const CellEvidence& evidence);

}  // namespace reprobench

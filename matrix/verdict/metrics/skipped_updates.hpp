// Steps that updated nothing because a gradient was not finite, as a training with a dynamic loss scale has them. A few
// such steps are how the scale is found. A training that has no other steps has trained nothing, however finite its
// losses are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "matrix/verdict/check.hpp"
#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

struct SkippedSteps {
  std::int64_t steps = 0;
  std::int64_t skipped = 0;
  std::string unknown;  // sentence: why nobody can say how many
};

// The skipped updates of one process; nothing if its loss scale is constant. A step has to say whether it was skipped,
// and the next step's scale has to be lower if and only if it was.
std::optional<SkippedSteps> skipped_steps(const RankRecord& rank);

// "numerics.skipped_updates": the share of an attempt's steps, on the rank with the most.
Measurement skipped_updates(const AttemptRecord& attempt, const MeasurementSelection& of);

// A cell fails if an attempt skipped every step, by a check that no matrix can disarm. It is undecided if the attempt
// does not say which steps were skipped.
std::optional<CheckResult> no_updates(const CellEvidence& evidence);

// "20 of 20 steps are skipped" for an attempt that updated nothing; empty if it updated something.
std::string updated_nothing(const AttemptRecord& attempt);

// The first step that one of two traces skips and the other does not: "smoke-b skips the update of step 7, smoke-a does
// not". Empty if there is none.
std::string other_skip_text(const Trace& measured, const Trace& expected, const std::string& measured_name,
                            const std::string& expected_name);

}  // namespace reprobench

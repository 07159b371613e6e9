// Runs made by hand for the tests of this layer: two stacks, any number of repeats, traces in memory.
#pragma once

#include <string>

#include "matrix/verdict/verdict.hpp"

namespace reprobench::sample {

inline constexpr const char* kReferenceId = "aaaaaaaaaaaa";
inline constexpr const char* kCandidateId = "bbbbbbbbbbbb";

// A bound, as a suite states it.
CellThreshold threshold(const std::string& metric, Bound::Kind kind, double limit, bool vs_reference,
                        Gate gate = Gate::armed);

// A completed attempt with `steps` steps of `step_time_ns`, equal digests in every attempt made with the same `bits`.
AttemptRecord attempt(int repeat, double step_time_ns, const std::string& bits = "same", int steps = 20);

// Reference and candidate cell, `repeats` attempts each, the candidate's thresholds as given; the candidate's steps
// take `slowdown` times the reference's.
RunRecord run(int repeats, double slowdown, std::vector<CellThreshold> thresholds);

// What a call of the operator probe left, with a digest of that digit.
ProbeMeasurement call_record(const std::string& call, char digit);

CellRecord& candidate(RunRecord& run);
const CellVerdict& candidate(const RunVerdict& verdict);

}  // namespace reprobench::sample

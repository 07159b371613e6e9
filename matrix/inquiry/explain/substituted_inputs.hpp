// The values that the measured side's calls of a step must be given, so that each takes the inputs of its partner on
// the expected side. Say the two sides diverge at a layer norm. Given the expected side's result of it, a GELU behind
// it takes equal values on both sides, and can be judged by its results (contract/replay.hpp).
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "matrix/contract/operator_record.hpp"
#include "matrix/contract/replay.hpp"
#include "matrix/inquiry/comparison_document.hpp"
#include "matrix/numerics/calls/step_divergence.hpp"

namespace reprobench {

// The most bytes that are kept of a step, since they are held in memory until the step has ended.
inline constexpr std::int64_t kMostSubstitutedBytes = std::int64_t{1} << 30;

struct SubstitutedCalls {
  std::vector<SubstitutedOutputs> calls;  // of the measured side
  std::vector<std::string> digests;       // of all values that they need, each once
  std::int64_t bytes = 0;                 // of those
};

// The pairs of calls that take or make different values, with outputs of equal types and shapes. Outputs of types that
// no replay reads back are not substituted, and neither are those of the measured side's calls that are left alone.
SubstitutedCalls calls_to_substitute(std::span<const OperatorRecord> measured, std::span<const OperatorRecord> expected,
                                     const std::set<std::int64_t>& left_alone = {});

// The measured side's calls, by index, that take what an operator of one side alone made, with all that they call. One
// side scales what a product takes, and another one what it gives: their products need not make the same.
std::set<std::int64_t> calls_behind_one_side(std::span<const OperatorRecord> measured,
                                             std::span<const OperatorRecord> expected);

// Those that are not yet sources of the explanation, or parts of one. Two calls that make up for each other do so only
// on their own values.
std::vector<DivergencePoint> not_known_yet(std::vector<DivergencePoint> found, const Explanation& explanation);

}  // namespace reprobench

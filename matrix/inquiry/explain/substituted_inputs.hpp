// What the measured side's calls of a step have to be given so that each takes what its partner on the expected side
// took. The two sides diverge at a layer norm, say: given the expected side's layer norm, a GELU behind it takes equal
// values on both sides, and can be judged by what it makes of them (contract/replay.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "matrix/contract/operator_record.hpp"
#include "matrix/contract/replay.hpp"
#include "matrix/inquiry/comparison_document.hpp"
#include "matrix/numerics/calls/step_divergence.hpp"

namespace reprobench {

// More than this is not kept of a step: it is held in memory until the step has ended.
inline constexpr std::int64_t kMostSubstitutedBytes = std::int64_t{1} << 30;

struct SubstitutedCalls {
  std::vector<SubstitutedOutputs> calls;  // of the measured side
  std::vector<std::string> digests;       // of all values that they need, each once
  std::int64_t bytes = 0;                 // of those
};

// Pairs of calls that take or make different values, with outputs of equal types and shapes. Types that no replay reads
// back are left as they are made.
SubstitutedCalls calls_to_substitute(std::span<const OperatorRecord> measured,
                                     std::span<const OperatorRecord> expected);

// Those of them that the explanation has not as sources already, nor as parts of one: two calls that make up for each
// other do so on their own values, and given other ones they do not.
std::vector<DivergencePoint> not_known_yet(std::vector<DivergencePoint> found, const Explanation& explanation);

}  // namespace reprobench

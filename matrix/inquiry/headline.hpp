// What a difference is, in one word, out of all that an explanation knows. The strongest evidence comes first: what the
// two sides were asked to compute, then what the operator made of it against fp64, then whole steps against fp64.
#pragma once

#include "matrix/inquiry/comparison.hpp"

namespace reprobench {

// Of two operators, or two stretches of calls, in fp64 on equal values: what is further apart than this is not the same
// computation. fp64 rounds seven orders below.
inline constexpr double kSameFormRel = 1e-9;

// One side is called farther from fp64 than the other from this factor on: E_max of class B1.
inline constexpr double kFartherFactor = 4;

// Nothing where no call made the difference: then only the steps are judged.
std::optional<Headline> headline_of(const Explanation& explanation);

}  // namespace reprobench

// What two different calls make together. An optimizer that divides by its bias correction before it adds epsilon, and
// one that has folded the correction into both constants, make another denominator and then take a step of another
// size: each place by itself asks for something else, and the two together ask for the same.
//
// A joint subgraph ends further on than the place where values diverge, in a call that both sides make, and goes back
// to values that both sides have.
#pragma once

#include <span>
#include <vector>

#include "matrix/contract/operator_record.hpp"
#include "matrix/numerics/calls/step_divergence.hpp"

namespace reprobench {

// So many calls on a side, and so many ends further and further on, are looked at.
inline constexpr std::size_t kMostJointCalls = 24;
inline constexpr std::size_t kMostJointEnds = 3;

struct JointSubgraph {
  OperatorRegion region;
  std::size_t other_constants = 0;  // pairs of its calls whose constants differ
};

// The smallest first; none where what the source makes is taken by a call outside of all of them: then it is no
// intermediate value.
std::vector<JointSubgraph> joint_subgraphs(std::span<const OperatorRecord> measured,
                                           std::span<const OperatorRecord> expected, const DivergencePoint& source);

// All calls of the source are among the subgraph's.
bool is_part_of(const DivergencePoint& source, const OperatorRegion& joint);

}  // namespace reprobench

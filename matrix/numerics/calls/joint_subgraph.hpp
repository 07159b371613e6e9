// The joint effect of two different calls. For example, one optimizer divides by its bias correction before it adds
// epsilon, and another has folded the correction into both constants. They compute different denominators, and then
// take steps of different sizes. Each place by itself asks for something else, and the two together ask for the same.
//
// A joint subgraph ends later than the place where values diverge, in a call that both sides make. It goes back to
// values that both sides have.
#pragma once

#include <span>
#include <vector>

#include "matrix/contract/operator_record.hpp"
#include "matrix/numerics/calls/step_divergence.hpp"

namespace reprobench {

// Limits of the search: the calls on a side, and the ends that are tried, each later than the one before.
inline constexpr std::size_t kMostJointCalls = 24;
inline constexpr std::size_t kMostJointEnds = 3;

struct JointSubgraph {
  OperatorRegion region;
  std::size_t other_constants = 0;  // pairs of its calls whose constants differ
};

// The smallest first. None if a call outside of all of them takes the output of the source, because that is then no
// intermediate value.
std::vector<JointSubgraph> joint_subgraphs(std::span<const OperatorRecord> measured,
                                           std::span<const OperatorRecord> expected, const DivergencePoint& source);

// Whether all calls of the source are among the subgraph's.
bool is_part_of(const DivergencePoint& source, const OperatorRegion& joint);

}  // namespace reprobench

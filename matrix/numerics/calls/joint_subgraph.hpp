// The joint effect of two different calls. For example, one optimizer divides by its bias correction before it adds
// epsilon, and another has folded the correction into both constants. They compute different denominators, and then
// take steps of different sizes. Each place by itself asks for something else, and the two together ask for the same.
//
// A joint subgraph ends later than the place where values diverge: in a call that both sides make, or where a side's
// own calls behind such a call end. It goes back to values that both sides have.
#pragma once

#include <span>
#include <vector>

#include "matrix/contract/operator_record.hpp"
#include "matrix/numerics/calls/step_divergence.hpp"

namespace reprobench {

// Limits of the search: the calls on a side, and the ends that are tried, each later than the one before.
inline constexpr std::size_t kMostJointCalls = 24;
inline constexpr std::size_t kMostJointEnds = 3;

// A call that takes what a source made: of which side, and its index there.
struct SourceReader {
  bool is_measured = false;
  std::int64_t index = 0;

  bool operator==(const SourceReader&) const = default;
};

struct JointSubgraph {
  OperatorRegion region;
  std::size_t places_apart = 0;           // pairs of its calls whose constants differ, and calls of one side alone
  std::vector<SourceReader> not_covered;  // readers of the source in its own pass that are no part of it
  bool is_taken_backward = false;         // calls of another pass take the source's results, too
};

// Those that hold the source, along each way that its results take; along one way the smallest first. For example,
// attention that scales queries and not scores hands the scaled queries to a product forwards and to another backwards.
// The source is no intermediate value of them where a reader is covered by none.
std::vector<JointSubgraph> joint_subgraphs(std::span<const OperatorRecord> measured,
                                           std::span<const OperatorRecord> expected, const DivergencePoint& source);

// Whether all calls of the source are among the subgraph's.
bool is_part_of(const DivergencePoint& source, const OperatorRegion& joint);

}  // namespace reprobench

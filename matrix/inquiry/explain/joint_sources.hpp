// Sources that ask for something else each, and for the same together (numerics/calls/joint_subgraph.hpp): found, and
// put in the place of their parts once they have been captured and judged.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "matrix/contract/operator_record.hpp"
#include "matrix/inquiry/comparison_document.hpp"

namespace reprobench {

// Two forms of one computation, in fp64: a hundred roundings of it, of what the last call of the subgraph makes.
inline constexpr double kJointFormRel = 1e-12;

struct JointSources {
  struct Part {
    std::optional<std::size_t> further;  // among the explanation's further sources; nothing: it is the first one
    std::vector<std::size_t> joints;     // that hold it, the smallest first
  };
  std::vector<FurtherSource> joints;      // not judged yet
  std::vector<std::size_t> places_apart;  // of each: places in it that ask for something else
  std::vector<Part> parts;
};

// Of sources that ask for something else by a constant, or by what fp64 makes of them. One with another type is no part
// of anything: what a cast takes away does not come back.
JointSources joint_sources(const Explanation& explanation, std::span<const OperatorRecord> measured,
                           std::span<const OperatorRecord> expected, bool on_substituted_inputs);

// Has each part give way to the smallest joint source in which another place makes up for it: that asks for the same on
// both sides, as far as fp64 shows it.
void settle(JointSources&& found, Explanation& explanation);

}  // namespace reprobench

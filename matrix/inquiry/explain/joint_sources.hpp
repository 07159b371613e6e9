// Sources that each compute something else, and together the same (numerics/calls/joint_subgraph.hpp). They are found
// here, and replace their parts once they have been captured and judged.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "matrix/contract/operator_record.hpp"
#include "matrix/inquiry/comparison_document.hpp"

namespace reprobench {

// How far two forms of one computation may be apart in fp64: a hundred roundings of the last call's result.
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

// Finds joint sources among those that compute something else, by a constant or by their fp64 results. A source with
// another type is never part of one, because nothing can bring back the bits that a cast takes away.
JointSources joint_sources(const Explanation& explanation, std::span<const OperatorRecord> measured,
                           std::span<const OperatorRecord> expected, bool on_substituted_inputs);

// Replaces each part by the smallest joint source in which another place makes up for it, so that both sides compute
// the same as far as fp64 shows.
void settle(JointSources&& found, Explanation& explanation);

}  // namespace reprobench

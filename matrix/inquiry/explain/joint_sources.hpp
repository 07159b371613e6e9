// Sources that each compute something else, and together the same (numerics/calls/joint_subgraph.hpp). They are found
// here, and replace their parts once they have been captured and judged.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "matrix/contract/operator_record.hpp"
#include "matrix/inquiry/comparison_document.hpp"
#include "matrix/numerics/calls/joint_subgraph.hpp"

namespace reprobench {

// How far two forms of one computation may be apart in fp64: a hundred roundings of the last call's result.
inline constexpr double kJointFormRel = 1e-12;

// What makes up for a difference leaves at most so much of it. An update that is small beside its weight makes another
// epsilon 1e-4 times as large in the weight: that is no such place.
inline constexpr double kLeftOfDifference = 1e-8;

// A part that was not captured counts as a millionth apart. Then 1e-14 may be left, and no decay of weights that is off
// by a millionth, which moves them by 1e-11 or less, hides in an update that is written otherwise.
inline constexpr double kUnknownApartRel = 1e-6;

struct JointSources {
  struct Part {
    struct Joint {
      std::size_t place;  // among `joints`
      std::vector<SourceReader> not_covered;
    };
    std::optional<std::size_t> further;  // among the explanation's further sources; nothing: it is the first one
    std::vector<Joint> within;           // joints that hold it; along one way of its results the smallest first
    bool is_call = false;                // and no subgraph of other operators
    std::optional<double> forms_apart_rel = {};
  };
  std::vector<FurtherSource> joints;      // not judged yet
  std::vector<std::size_t> places_apart;  // of each: places in it that ask for something else
  // Of each the one by which it is judged: itself if it is captured, else the first one that is alike.
  std::vector<std::size_t> alike;
  std::vector<Part> parts;
};

// Finds joint sources among those that compute something else, by a constant or by their fp64 results. A source with
// another type is never part of one, because nothing can bring back the bits that a cast takes away. `measured` is on
// record of one replay, and sources count that were found in such a replay, or all.
enum class FoundIn { plain_replay, substituted_replay, any_replay };
JointSources joint_sources(const Explanation& explanation, std::span<const OperatorRecord> measured,
                           std::span<const OperatorRecord> expected, FoundIn found_in);

// Whether a further source asks for something else.
bool has_other_questions(const Explanation& explanation);

// Drops subgraphs found on substituted inputs that make no difference on the measured side's own values: there, in
// `measured`, the call behind them takes the expected side's value to the bit. For example, a quarter of a product is
// the product of a quarter, bit for bit.
void drop_equal_on_own_values(std::span<const OperatorRecord> measured, Explanation& explanation);

// Replaces each part by the smallest joint sources in which another place makes up for it, so that both sides compute
// the same as far as fp64 shows. Every call that takes what the part made has to be covered by one of them.
void settle(JointSources&& found, Explanation& explanation);

}  // namespace reprobench

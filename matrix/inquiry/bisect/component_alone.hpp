// The document `component_alone`: what one component of another stack changes by itself, and whether that explains the
// difference between the two stacks.
//
// Three stacks are held against each other: A, B, and the mix of A with B's component. From A to the mix only the
// component changes, from the mix to B all the rest.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"
#include "matrix/inquiry/bisect/bisect_search.hpp"
#include "matrix/numerics/steps/fingerprint_differences.hpp"
#include "matrix/stats/paired_ratio.hpp"

namespace reprobench {

enum class AloneWord {
  explains,   // the mix is as B
  in_part,    // the mix is neither as A nor as B; of times, it lies between them
  in_excess,  // of times: the component does more than B shows, and the rest works against it
  not_it,     // the mix is as A, or farther from B than A
  nothing,    // A and B do not differ, so there is nothing to explain
  undecided   // noise leaves it open, or one of the three cannot be tested
};
template <>
struct Words<AloneWord> {
  static constexpr std::array<std::string_view, 6> table = {"explains", "in_part", "in_excess",
                                                            "not_it",   "nothing", "undecided"};
};

template <>
struct Description<RatioInterval> {
  static constexpr About about = About::part("ratio_interval", "A time by another: median of pairs, and its interval.");
  static void fields(auto& field, RatioInterval& interval) {
    field("ratio", interval.ratio);
    field("low", interval.low);
    field("high", interval.high);
    field("pairs", interval.pairs, rule::at_least(1));
    field.hold(0 < interval.low && interval.low <= interval.ratio && interval.ratio <= interval.high,
               "has an interval that is none");
  }
};

// One stack against another.
struct PairEffect {
  std::string first_difference;       // "step 3"; empty: equal bits
  std::optional<RatioInterval> time;  // nothing: not asked, or not measured
};
template <>
struct Description<PairEffect> {
  static constexpr About about = About::part("pair_effect");
  static void fields(auto& field, PairEffect& effect) {
    field("first_difference", effect.first_difference, "Empty: equal bits.");
    field("time", effect.time, "Step time of the first by that of the second; null: not measured.");
  }
};

struct ComponentAlone {
  std::string component;
  std::string measured;  // A
  std::string expected;  // B
  std::string mix;       // A with B's component
  std::string workload;
  std::string problem;              // why nothing is known, one sentence; empty: all three were compared
  std::optional<PairEffect> alone;  // A against the mix
  std::optional<PairEffect> whole;  // A against B
  std::optional<PairEffect> rest;   // the mix against B
  AloneWord bits = AloneWord::undecided;
  std::optional<AloneWord> time;       // nothing: not asked
  std::optional<double> margin;        // times that differ by less are equal
  std::optional<double> confidence;    // of all intervals together
  std::vector<SideDifference> loaded;  // what the mix's worker had loaded and A's had not
  std::string sentence;
  std::vector<std::string> commands;  // make the mix and compare it
};
template <>
struct Description<ComponentAlone> {
  static constexpr About about =
      About::document("component_alone", "What one component of another stack changes by itself");
  static void fields(auto& field, ComponentAlone& answer) {
    field("component", answer.component, rule::not_empty);
    field("measured", answer.measured, rule::not_empty.says("Stack A."));
    field("expected", answer.expected, rule::not_empty.says("Stack B."));
    field("mix", answer.mix, rule::not_empty.says("A with B's component."));
    field("workload", answer.workload, rule::not_empty);
    field("problem", answer.problem, "Why nothing is known; empty: all three were compared.");
    field("alone", answer.alone, "A against the mix.");
    field("whole", answer.whole, "A against B.");
    field("rest", answer.rest, "The mix against B.");
    field("bits", answer.bits, "Whether the component explains the difference of bits.");
    field("time", answer.time, "Of step times the same; null: not asked.");
    field("margin", answer.margin, "Times that differ by less are equal.");
    field("confidence", answer.confidence, "Of all intervals together.");
    field("loaded", answer.loaded, "What the mix's worker had loaded that is not the same as in A.");
    field("sentence", answer.sentence, rule::not_empty);
    field("commands", answer.commands, "Make the mix and compare it.");
    field.hold(answer.problem.empty() == (answer.alone && answer.whole && answer.rest),
               "needs either a `problem` or all three comparisons");
    field.hold(answer.problem.empty() || answer.bits == AloneWord::undecided, "has a `problem` and an answer");
  }
};

// `mix` and `whole`: which of both stacks the mix is like, and which of them B; A is the good end, B the bad one.
AloneWord explained_bits(PointState mix, PointState whole);

// Whether an interval is of one side of 1, or within the margin around it: one that is neither says nothing.
bool is_decided(const RatioInterval& interval, double margin);

AloneWord explained_time(const RatioInterval& alone, const RatioInterval& whole, const RatioInterval& rest,
                         double margin);

// Whether the component changes what was asked, whatever B does. Nothing: it is not known.
std::optional<bool> has_effect(const ComponentAlone& answer);

}  // namespace reprobench

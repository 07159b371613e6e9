// Where on an ordered axis does something change? This is a binary search over points that only `evaluate` knows:
// stacks by release here, and anything else that has an order. No process is started here.
//
// The two ends define the difference that is searched for. A point is as the good end, as the bad end, another change,
// or untestable. A crash, or a failure for another reason, is untestable and never bad, so that the search does not
// follow it. Another change is a state of its own, equal to neither end. There are then at least two changes, and both
// sides of that point are searched. If a point is untestable, its neighbours are tried, nearest first.
//
// Every change is between two points that were both seen. If nothing between them could be tested, the answer is that
// range. A history that goes back and forth has a change wherever the search ends. The search need not see the others;
// those that it saw are reported.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/document/words.hpp"

namespace reprobench {

enum class PointState { as_good, as_bad, another, untestable };
template <>
struct Words<PointState> {
  static constexpr std::array<std::string_view, 4> table = {"as the good end", "as the bad end", "another change",
                                                            "untestable"};
};

struct PointAnswer {
  PointState state = PointState::untestable;
  std::string why;       // one sentence; never empty for an untestable point
  std::string identity;  // for another change: equal texts are one state
};

// `is_confirmation` says that the point was seen before. It must then be evaluated anew, without known observations.
using EvaluatePoint = std::function<PointAnswer(std::size_t point, bool is_confirmation)>;

struct PointEvaluation {
  std::size_t point = 0;
  PointAnswer answer;
  bool is_confirmation = false;
};

// The state changes somewhere after `before` and not after `after`; points between them are untestable.
struct PointChange {
  std::size_t before = 0;
  std::size_t after = 0;

  bool operator==(const PointChange&) const = default;
};

// A state that was seen before is back at `point`, although another one is between them.
struct PointReturn {
  std::size_t point = 0;
  std::size_t seen_at = 0;

  bool operator==(const PointReturn&) const = default;
};

struct BisectSearch {
  std::vector<PointEvaluation> evaluations;  // in the order in which they came
  std::string problem;                       // why there is no answer, one sentence; empty if there is one
  std::vector<PointChange> changes;          // in the order of the axis; none if there is a problem
  std::vector<PointReturn> returns;          // what contradicts one lasting change

  // The change that brings the bad end's state. There is one if there is no problem.
  const PointChange& culprit() const;
  const PointAnswer* answer_at(std::size_t point) const;  // the latest; null if it was not evaluated
};

// Whether the ends are evaluated again when the search is over. Bits of a stack that were equal in two processes stay
// as they are. A time does not, because the machine may have changed meanwhile.
enum class ConfirmEnds { no, yes };

// The good end is point 0 and the bad end the last one. Throws std::invalid_argument for fewer than two points.
BisectSearch bisect(std::size_t points, ConfirmEnds confirm, const EvaluatePoint& evaluate);

}  // namespace reprobench

// Which components of two stacks cause the difference between them? This is delta debugging over mixes, which only
// `evaluate` knows: the good end with some components of the bad end. No process is started here.
//
// As in a search over an axis (bisect_search.hpp), the two ends define the difference that is searched for. A mix is as
// the good end, as the bad end, another change, or untestable. A mix that cannot be made or run is untestable and never
// bad; so is one that gives other bits each time.
//
//   ends         both are evaluated as they are before anything else, and again after everything
//   hidden       the good end with all components of the bad one has to be as the bad end. If it is not, and the bad
//   end
//                still is as it was, the difference is in none of them
//   culprits     the smallest set, found by halving, whose exchange brings the bad end's state. Each of its components
//                was left out once, and then the state was another one
//   more         with these put back, the rest is evaluated: if that brings the state too, there is another set
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "matrix/inquiry/bisect/bisect_search.hpp"

namespace reprobench {

enum class MixKind { good_end, bad_end, mix };
template <>
struct Words<MixKind> {
  static constexpr std::array<std::string_view, 3> table = {"good end", "bad end", "mix"};
};

// An end as it is, not made of anything; or the good end with these components of the bad end.
struct Mix {
  MixKind kind = MixKind::mix;
  std::vector<std::size_t> from_bad;  // for a mix, ascending

  bool operator==(const Mix&) const = default;
};

// `is_confirmation` says that the mix was seen before. It must then be evaluated anew, without known observations.
using EvaluateMix = std::function<PointAnswer(const Mix& mix, bool is_confirmation)>;

struct MixEvaluation {
  Mix mix;
  PointAnswer answer;
  bool is_confirmation = false;
};

// Components that bring the bad end's state if they are exchanged together.
struct CulpritSet {
  std::vector<std::size_t> components;
  // For each of these the mix without it is untestable. They have to go together, and the cause may be in fewer of
  // them.
  std::vector<std::size_t> unproven;
  std::vector<PointState> alone;  // what each brings by itself; `as_bad` if there is only one component

  bool operator==(const CulpritSet&) const = default;
};

struct ComponentSearch {
  std::vector<MixEvaluation> evaluations;  // in the order in which they came
  std::string problem;                     // why there is no answer, one sentence; empty if there is one
  bool is_hidden = false;                  // the problem is that the difference is in no component
  std::vector<CulpritSet> culprits;        // each brings the state by itself; none if there is a problem
  // The state with all components but the culprits exchanged: `as_good` if the culprits explain the whole difference.
  // It is also untestable if the culprits are all components.
  PointState rest = PointState::untestable;

  const PointAnswer* answer_to(const Mix& mix) const;  // the latest; null if it was not evaluated
};

// `components` is the number of those that differ. If it is 0, the answer is `is_hidden`, or a problem of the ends.
ComponentSearch bisect_components(std::size_t components, const EvaluateMix& evaluate);

// The largest number of evaluations that a search makes.
std::size_t most_component_evaluations(std::size_t components);

}  // namespace reprobench

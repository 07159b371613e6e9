// Which components of two stacks make the difference between them? Delta debugging over mixes, which only `evaluate`
// knows: the good end with some components of the bad end. No process is started here.
//
// As in a search over an axis (bisect_search.hpp) the two ends fix what is looked for, and a mix is as the good end, as
// the bad end, another change, or untestable. A mix that cannot be made or run is untestable and never bad; so is one
// that gives other bits each time.
//
//   ends         both are seen as they are before anything else, and again after all
//   hidden       the good end with all components of the bad one has to be as the bad end. Where it is not, and the bad
//                end still is what it was, the difference is in none of them
//   culprits     the smallest set, found by halving, whose exchange brings the bad end's state. Each of its components
//                was left out once, and then the state was another one
//   more         with these put back, the rest is asked again: where that brings the state too, there is another set
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
  std::vector<std::size_t> from_bad;  // of a mix, ascending

  bool operator==(const Mix&) const = default;
};

// `is_confirmation`: it was seen before, and is asked about anew, from nothing that is known.
using EvaluateMix = std::function<PointAnswer(const Mix& mix, bool is_confirmation)>;

struct MixEvaluation {
  Mix mix;
  PointAnswer answer;
  bool is_confirmation = false;
};

// Exchanged together, they bring the bad end's state.
struct CulpritSet {
  std::vector<std::size_t> components;
  // Of these the mix without that one is untestable: they have to go together, and the cause may be in fewer of them.
  std::vector<std::size_t> unproven;
  std::vector<PointState> alone;  // what each brings by itself; of one component `as_bad`

  bool operator==(const CulpritSet&) const = default;
};

struct ComponentSearch {
  std::vector<MixEvaluation> evaluations;  // as they came
  std::string problem;                     // why there is no answer, one sentence; empty: there is one
  bool is_hidden = false;                  // the problem is that the difference lies in no component
  std::vector<CulpritSet> culprits;        // each brings the state by itself; with a problem none
  // All components but the culprits, exchanged: `as_good` where the culprits explain all there is to see. Untestable
  // too where the culprits are all components.
  PointState rest = PointState::untestable;

  const PointAnswer* answer_to(const Mix& mix) const;  // the latest; null: it was not evaluated
};

// `components`: how many differ; with none of them the answer is `is_hidden`, or a problem of the ends.
ComponentSearch bisect_components(std::size_t components, const EvaluateMix& evaluate);

// At most so many evaluations does a search make.
std::size_t most_component_evaluations(std::size_t components);

}  // namespace reprobench

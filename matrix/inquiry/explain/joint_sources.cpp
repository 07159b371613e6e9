#include "matrix/inquiry/explain/joint_sources.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "matrix/inquiry/explain/module_judgement.hpp"
#include "matrix/numerics/calls/joint_subgraph.hpp"
#include "matrix/numerics/calls/operator_alignment.hpp"

namespace reprobench {
namespace {

bool asks_for_another(const DifferenceSource& source) {
  if (source.call) {
    const OperatorDivergence& call = *source.call;
    const bool is_cast = call.output < std::min(call.measured.outputs.size(), call.expected.outputs.size()) &&
                         call.measured.outputs[call.output].dtype != call.expected.outputs[call.output].dtype;
    return !is_cast && (call.constants_differ || !other_question(source).empty());
  }
  return source.region && difference_in_kind(*source.region).empty() && !other_question(source).empty();
}

// A call that asks for something else and has nothing to make up for it asks for something else, however small its
// effect: a decay of weights that is off by a millionth moves them by 1e-11.
constexpr std::size_t kFewestPlaces = 2;

bool asks_for_the_same(const DifferenceSource& source) {
  return source.budget && source.budget->forms_apart_rel && *source.budget->forms_apart_rel <= kJointFormRel &&
         other_question(source).empty();
}

// Whether the whole makes up for that part. For a whole that was not captured one that is alike tells: what is asked
// for depends on the calls, their constants and who takes what of whom, not on values.
bool makes_up_for(const JointSources& found, std::size_t place, const JointSources::Part& part) {
  const FurtherSource& joint = found.joints[found.alike[place]];
  if (!difference_in_kind(*found.joints[place].region).empty() || !asks_for_the_same(joint)) return false;
  if (part.is_call && found.places_apart[place] < kFewestPlaces) return false;
  return *joint.budget->forms_apart_rel <= kLeftOfDifference * part.forms_apart_rel.value_or(kUnknownApartRel);
}

bool ends_alike(const OperatorRegion& a, const OperatorRegion& b) {
  return a.measured.at.index == b.measured.at.index && a.expected.at.index == b.expected.at.index;
}

// How many calls before it the maker of an input stands, if it stands within the subgraph; a weight or another inflow
// is 0. For example, of `x - mean` and of `mean - x` these are other lists.
std::vector<std::int64_t> makers_within(const OperatorSubgraph& subgraph, const OperatorRecord& call) {
  const std::int64_t first = std::ranges::min_element(subgraph.calls, {}, &OperatorRecord::index)->index;
  std::vector<std::int64_t> makers;
  for (const OperatorTensor& input : call.inputs) {
    const bool is_within = input.made_by && *input.made_by >= first;
    makers.push_back(is_within ? call.index - *input.made_by : 0);
  }
  return makers;
}

bool asks_alike(const OperatorSubgraph& a, const OperatorSubgraph& b) {
  const auto same = [&](const OperatorRecord& x, const OperatorRecord& y) {
    return x.name == y.name && x.constants == y.constants && makers_within(a, x) == makers_within(b, y) &&
           std::ranges::equal(x.inputs, y.inputs, {}, &OperatorTensor::dtype, &OperatorTensor::dtype);
  };
  return a.is_taken == b.is_taken && a.place == b.place && std::ranges::equal(a.calls, b.calls, same);
}

bool asks_alike(const OperatorRegion& a, const OperatorRegion& b) {
  return asks_alike(a.measured, b.measured) && asks_alike(a.expected, b.expected);
}

// The joint sources that ask for the same and together cover every reader of the part; none if a reader is left.
std::vector<std::size_t> covering(const JointSources::Part& part, const JointSources& found) {
  std::vector<std::size_t> joints;
  std::vector<SourceReader> left;
  for (const auto& within : part.within) {
    const std::size_t place = within.place;
    const auto& not_covered = within.not_covered;  // Clang before 16 captures no structured binding
    if (!makes_up_for(found, place, part)) continue;
    const std::size_t before = left.size();
    if (joints.empty()) {
      left = not_covered;
    } else {
      std::erase_if(left, [&](const SourceReader& reader) {
        return std::ranges::find(not_covered, reader) == not_covered.end();
      });
      if (left.size() == before) continue;  // it covers nothing more
    }
    joints.push_back(place);
    if (left.empty()) return joints;
  }
  return {};
}

class Search {
 public:
  Search(std::span<const OperatorRecord> measured, std::span<const OperatorRecord> expected, FoundIn found_in)
      : measured_(measured), expected_(expected), found_in_(found_in) {}

  void add(const DifferenceSource& source, bool inputs_agree, std::optional<std::size_t> further) {
    const FoundIn own = source.on_substituted_inputs ? FoundIn::substituted_replay : FoundIn::plain_replay;
    if ((found_in_ != FoundIn::any_replay && found_in_ != own) || !asks_for_another(source)) return;
    JointSources::Part part{further, {}, source.call.has_value()};
    if (source.budget) part.forms_apart_rel = source.budget->forms_apart_rel;
    // The others are counted by their constants, or as calls of one side alone.
    const bool is_counted = !source.call || source.call->constants_differ;
    for (JointSubgraph& joint : joint_subgraphs(
             measured_, expected_, {source.call, source.call ? std::nullopt : source.region, inputs_agree})) {
      auto not_covered = std::move(joint.not_covered);
      const std::size_t place = number_of(std::move(joint));
      const bool is_known =
          std::ranges::find(part.within, place, &JointSources::Part::Joint::place) != part.within.end();
      if (is_known) continue;
      part.within.push_back({place, std::move(not_covered)});
      found_.places_apart[place] += is_counted ? 0 : 1;
    }
    if (!part.within.empty()) found_.parts.push_back(std::move(part));
  }

  JointSources take() { return std::move(found_); }

 private:
  std::size_t number_of(JointSubgraph joint) {
    auto& joints = found_.joints;
    const auto known = std::ranges::find_if(
        joints, [&](const FurtherSource& source) { return ends_alike(*source.region, joint.region); });
    if (known != joints.end()) return static_cast<std::size_t>(known - joints.begin());
    FurtherSource& source = joints.emplace_back();
    source.region = std::move(joint.region);
    source.on_substituted_inputs = found_in_ != FoundIn::plain_replay;
    source.needs_steps = joint.is_taken_backward;
    found_.places_apart.push_back(joint.places_apart);
    const auto same = std::ranges::find_if(
        joints, [&](const FurtherSource& other) { return asks_alike(*other.region, *source.region); });
    found_.alike.push_back(static_cast<std::size_t>(same - joints.begin()));
    return joints.size() - 1;
  }

  std::span<const OperatorRecord> measured_;
  std::span<const OperatorRecord> expected_;
  FoundIn found_in_;
  JointSources found_;
};

}  // namespace

JointSources joint_sources(const Explanation& explanation, std::span<const OperatorRecord> measured,
                           std::span<const OperatorRecord> expected, FoundIn found_in) {
  Search search(measured, expected, found_in);
  search.add(explanation, true, std::nullopt);
  for (std::size_t i = 0; i < explanation.further_sources.size(); ++i) {
    const FurtherSource& source = explanation.further_sources[i];
    search.add(source, source.inputs_agree, i);
  }
  return search.take();
}

bool has_other_questions(const Explanation& explanation) {
  return std::ranges::any_of(explanation.further_sources, asks_for_another);
}

void drop_equal_on_own_values(std::span<const OperatorRecord> measured, Explanation& explanation) {
  std::erase_if(explanation.further_sources, [&](const FurtherSource& source) {
    if (!source.on_substituted_inputs || !source.region || !source.region->measured.is_taken) return false;
    const OperatorSubgraph& own = source.region->measured;
    const auto call = std::ranges::find(measured, own.at.index, &OperatorRecord::index);
    if (call == measured.end() || call->name != own.at.name || own.place >= call->inputs.size()) return false;
    const OperatorTensor& taken = call->inputs[own.place];
    return has_content(taken) && taken == source.region->expected.outflow;
  });
}

void settle(JointSources&& found, Explanation& explanation) {
  std::set<std::size_t> gone;    // of the further sources
  std::set<std::size_t> placed;  // of the joint ones
  for (const JointSources::Part& part : found.parts) {
    const auto joints = covering(part, found);
    if (joints.empty()) continue;
    bool replaces_first = !part.further;
    if (part.further) gone.insert(*part.further);
    for (const std::size_t joint : joints) {
      if (!placed.insert(joint).second && !replaces_first) continue;
      if (replaces_first) {
        static_cast<DifferenceSource&>(explanation) = found.joints[joint];
      } else {
        explanation.further_sources.push_back(found.joints[joint]);
      }
      replaces_first = false;
    }
  }
  auto& sources = explanation.further_sources;
  for (const std::size_t i : std::vector<std::size_t>(gone.rbegin(), gone.rend())) {
    sources.erase(sources.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace reprobench

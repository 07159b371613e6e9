#include "matrix/inquiry/explain/joint_sources.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "matrix/inquiry/explain/module_judgement.hpp"
#include "matrix/inquiry/explain/source_diagnosis.hpp"
#include "matrix/numerics/calls/joint_subgraph.hpp"

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

// One that asks for something else and has nothing to make up for it asks for something else, however small its effect:
// a decay of weights that is off by a millionth moves them by 1e-11.
constexpr std::size_t kFewestPlaces = 2;

bool asks_for_the_same(const DifferenceSource& source) {
  return source.budget && source.budget->forms_apart_rel && *source.budget->forms_apart_rel <= kJointFormRel &&
         other_question(source).empty();
}

bool ends_alike(const OperatorRegion& a, const OperatorRegion& b) {
  return a.measured.at.index == b.measured.at.index && a.expected.at.index == b.expected.at.index;
}

class Search {
 public:
  Search(std::span<const OperatorRecord> measured, std::span<const OperatorRecord> expected, bool on_substituted_inputs)
      : measured_(measured), expected_(expected), on_substituted_inputs_(on_substituted_inputs) {}

  void add(const DifferenceSource& source, bool inputs_agree, std::optional<std::size_t> further) {
    if (source.on_substituted_inputs != on_substituted_inputs_ || !asks_for_another(source)) return;
    JointSources::Part part{further, {}};
    const bool is_counted = source.call && source.call->constants_differ;
    for (JointSubgraph& joint : joint_subgraphs(
             measured_, expected_, {source.call, source.call ? std::nullopt : source.region, inputs_agree})) {
      part.joints.push_back(number_of(std::move(joint)));
      found_.places_apart[part.joints.back()] += is_counted ? 0 : 1;
    }
    if (!part.joints.empty()) found_.parts.push_back(std::move(part));
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
    source.on_substituted_inputs = on_substituted_inputs_;
    found_.places_apart.push_back(joint.other_constants);
    return joints.size() - 1;
  }

  std::span<const OperatorRecord> measured_;
  std::span<const OperatorRecord> expected_;
  bool on_substituted_inputs_;
  JointSources found_;
};

}  // namespace

JointSources joint_sources(const Explanation& explanation, std::span<const OperatorRecord> measured,
                           std::span<const OperatorRecord> expected, bool on_substituted_inputs) {
  Search search(measured, expected, on_substituted_inputs);
  search.add(explanation, true, std::nullopt);
  for (std::size_t i = 0; i < explanation.further_sources.size(); ++i) {
    const FurtherSource& source = explanation.further_sources[i];
    search.add(source, source.inputs_agree, i);
  }
  return search.take();
}

void settle(JointSources&& found, Explanation& explanation) {
  std::set<std::size_t> gone;    // of the further sources
  std::set<std::size_t> placed;  // of the joint ones
  for (const JointSources::Part& part : found.parts) {
    const auto joint = std::ranges::find_if(part.joints, [&](std::size_t i) {
      return found.places_apart[i] >= kFewestPlaces && asks_for_the_same(found.joints[i]);
    });
    if (joint == part.joints.end()) continue;
    const bool is_new = placed.insert(*joint).second;
    if (!part.further) {
      static_cast<DifferenceSource&>(explanation) = found.joints[*joint];
      continue;
    }
    gone.insert(*part.further);
    if (is_new) explanation.further_sources.push_back(found.joints[*joint]);
  }
  auto& sources = explanation.further_sources;
  for (const std::size_t i : std::vector<std::size_t>(gone.rbegin(), gone.rend())) {
    sources.erase(sources.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace reprobench

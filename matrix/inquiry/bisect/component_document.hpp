// The document `component_bisect`: the components of two stacks that cause a difference between them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"
#include "matrix/inquiry/bisect/bisect_document.hpp"
#include "matrix/inquiry/bisect/component_search.hpp"

namespace reprobench {

enum class ComponentWord {
  found,     // the smallest set of components whose exchange brings the bad end's state
  together,  // such a set, but some cannot be exchanged without others: the cause may be in fewer
  hidden,    // the cause is in none of them
  equal,     // the ends do not differ in what was asked
  unclear    // no answer: an end or the mix of everything is untestable, or something changed when asked again
};
template <>
struct Words<ComponentWord> {
  static constexpr std::array<std::string_view, 5> table = {"found", "together", "hidden", "equal", "unclear"};
};

// One library of one side.
struct ComponentLibrary {
  std::string name;
  std::string identity;  // build id, or `sha256:` and digest

  bool operator==(const ComponentLibrary&) const = default;
};
template <>
struct Description<ComponentLibrary> {
  static constexpr About about = About::part("component_library");
  static void fields(auto& field, ComponentLibrary& library) {
    field("name", library.name, rule::not_empty);
    field("identity", library.identity, rule::not_empty.says("Build id, or `sha256:` and a digest."));
  }
};

struct DifferingComponent {
  std::string name;
  std::vector<ComponentLibrary> good;  // those that the bad end lacks; empty: it has all of them
  std::vector<ComponentLibrary> bad;
};
template <>
struct Description<DifferingComponent> {
  static constexpr About about = About::part("differing_component", "A component that is not the same at both ends.");
  static void fields(auto& field, DifferingComponent& component) {
    field("name", component.name, rule::not_empty);
    field("good", component.good);
    field("bad", component.bad);
  }
};

struct ComponentEffect {
  std::string component;
  PointState alone = PointState::untestable;
  bool is_proven = false;
};
template <>
struct Description<ComponentEffect> {
  static constexpr About about = About::part("component_effect");
  static void fields(auto& field, ComponentEffect& effect) {
    field("component", effect.component, rule::not_empty);
    field("alone", effect.alone, "What exchanging this one alone brings.");
    field("is_proven", effect.is_proven, "Without it the mix was tested, and was not as the bad end.");
  }
};

struct ComponentCulprit {
  std::vector<ComponentEffect> components;
  std::string stack;                        // the hybrid that shows it
  std::vector<std::string> differing = {};  // parts whose bits differ from the good end's
  std::string judgement = {};               // one sentence
  std::vector<SideDifference> loaded = {};  // what its worker had loaded and the good end's had not
  std::vector<std::string> commands = {};   // commands that make it and show it
  std::optional<CheckChange> check = {};    // for a check: what it says of the good end and of this hybrid
};
template <>
struct Description<ComponentCulprit> {
  static constexpr About about =
      About::part("component_culprit", "Exchanged together, they bring what the bad end shows.");
  static void fields(auto& field, ComponentCulprit& culprit) {
    field("components", culprit.components, rule::not_empty_list);
    field("stack", culprit.stack, rule::not_empty.says("The good end with them."));
    field("differing", culprit.differing, "Parts whose bits differ from the good end's.");
    field("judgement", culprit.judgement);
    field("loaded", culprit.loaded, "What its worker had loaded that is not the same as at the good end.");
    field("commands", culprit.commands, "Make it and show it.");
    field.optional("check", culprit.check, "Of a check: what it says of the good end and of this hybrid.");
  }
};

struct EvaluatedMix {
  MixKind kind = MixKind::mix;
  std::vector<std::string> from_bad;
  PointState state = PointState::untestable;
  std::string why;
  bool is_confirmation = false;
};
template <>
struct Description<EvaluatedMix> {
  static constexpr About about = About::part("evaluated_mix");
  static void fields(auto& field, EvaluatedMix& evaluated) {
    field("kind", evaluated.kind);
    field("from_bad", evaluated.from_bad, "Components that a mix has of the bad end.");
    field("state", evaluated.state);
    field("why", evaluated.why);
    field("is_confirmation", evaluated.is_confirmation, "Seen before, and measured anew.");
  }
};

struct ComponentAnswer {
  std::string subject;
  ComponentWord word = ComponentWord::unclear;
  std::string problem;                       // why no component is named; empty if one is
  std::vector<ComponentCulprit> culprits;    // each brings the state by itself
  PointState rest = PointState::untestable;  // the state with all other components exchanged
  std::vector<SideDifference> differences;   // of a hidden variable: all in which the bad end and the mix of everything
                                             // differ
  std::vector<EvaluatedMix> evaluations;
};
template <>
struct Description<ComponentAnswer> {
  static constexpr About about = About::part("component_answer");
  static void fields(auto& field, ComponentAnswer& answer) {
    field("subject", answer.subject, rule::not_empty);
    field("word", answer.word);
    field("problem", answer.problem, "Why no component is named; empty: one is.");
    field("culprits", answer.culprits, "Each brings what the bad end shows by itself.");
    field("rest", answer.rest, "All components but the culprits, exchanged.");
    field("differences", answer.differences,
          "Of a hidden variable: all in which the bad end and the mix of all its components differ.");
    field("evaluations", answer.evaluations, "As they came.");
    field.hold(answer.culprits.empty() != answer.problem.empty(), "needs either `culprits` or a `problem`");
  }
};

struct ComponentBisectDocument {
  std::string good;
  std::string bad;
  std::string asked;                 // kBisectQuestions
  std::optional<double> margin;      // for speed: slower by more than this
  std::optional<double> confidence;  // for speed: confidence of an answer as a whole
  std::vector<DifferingComponent> components;
  std::vector<ComponentAnswer> answers;
  std::optional<AskedCheck> check;  // for a check: the one that failed in a run
};
template <>
struct Description<ComponentBisectDocument> {
  static constexpr About about =
      About::document("component_bisect", "Which components of two stacks make the difference between them");
  static void fields(auto& field, ComponentBisectDocument& document) {
    field("good", document.good, rule::not_empty);
    field("bad", document.bad, rule::not_empty);
    field("asked", document.asked, rule::one_of(kBisectQuestions));
    field.optional("margin", document.margin, "Of speed: slower by more than this.");
    field.optional("confidence", document.confidence, "Of speed: that an answer as a whole is right.");
    field("components", document.components, "Those that differ between the ends, by build id.");
    field("answers", document.answers);
    field.optional("check", document.check, "The one that failed in a run.");
  }
};

// Leaves out libraries that are the same on both sides.
DifferingComponent differing_component(const std::string& name, std::vector<ComponentLibrary> good,
                                       std::vector<ComponentLibrary> bad);

// The answer of a search over these components. It lacks the parts that only the stacks can tell: for a culprit its
// `stack`, `differing`, `judgement`, `loaded` and `commands`, for a hidden variable the `differences`.
ComponentAnswer answer_of_components(const std::string& subject, const ComponentSearch& search,
                                     const std::vector<std::string>& components);

}  // namespace reprobench

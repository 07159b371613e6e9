// The document `bisect`: where on an axis of stacks a result changes, and the evidence about that change.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"
#include "matrix/inquiry/bisect/bisect_search.hpp"
#include "matrix/inquiry/bisect/seen_check.hpp"
#include "matrix/numerics/steps/fingerprint_differences.hpp"

namespace reprobench {

enum class BisectWord {
  found,   // between two neighbours of the axis
  range,   // between two stacks; those in the middle are untestable
  equal,   // the ends do not differ in what was asked
  unclear  // no answer: an end is untestable, or is not as it was declared to be
};
template <>
struct Words<BisectWord> {
  static constexpr std::array<std::string_view, 4> table = {"found", "range", "equal", "unclear"};
};

struct EvaluatedStack {
  std::string stack;
  PointState state = PointState::untestable;
  std::string why;
  bool is_confirmation = false;
};

template <>
struct Description<EvaluatedStack> {
  static constexpr About about = About::part("evaluated_stack");
  static void fields(auto& field, EvaluatedStack& evaluated) {
    field("stack", evaluated.stack, rule::not_empty);
    field("state", evaluated.state);
    field("why", evaluated.why);
    field("is_confirmation", evaluated.is_confirmation, "An end, measured anew after the search.");
  }
};

struct StackChange {
  std::string before;
  PointState before_state = PointState::as_good;
  std::string after;
  PointState after_state = PointState::as_bad;
  std::vector<std::string> untestable;          // stacks between the two
  std::vector<std::string> differing = {};      // parts whose bits differ: "output.0 float32[256, 768]"
  std::string judgement = {};                   // one sentence: rounding or not, how much slower
  std::vector<SideDifference> components = {};  // differences in what the workers of the two stacks had loaded
  std::string command = {};                     // a command that shows the change
  std::optional<CheckChange> check = {};        // for a check: what it says on both sides
};

template <>
struct Description<StackChange> {
  static constexpr About about = About::part("stack_change", "The result changes from one stack to the other.");
  static void fields(auto& field, StackChange& change) {
    field("before", change.before, rule::not_empty);
    field("before_state", change.before_state);
    field("after", change.after, rule::not_empty);
    field("after_state", change.after_state);
    field("untestable", change.untestable, "Between the two: the change may be in any of them.");
    field("differing", change.differing, "Parts whose bits differ between the two.");
    field("judgement", change.judgement);
    field("components", change.components, "What the two workers had loaded that is not the same.");
    field("command", change.command, "Shows the change.");
    field.optional("check", change.check, "Of a check: what it says on both sides.");
  }
};

struct BisectAnswer {
  std::string subject;  // the call, or the workload
  BisectWord word = BisectWord::unclear;
  std::string problem;                 // why there is no change to name; empty if there is one
  std::optional<StackChange> culprit;  // the change that brings the bad end's state
  std::vector<StackChange> others;     // the other changes that were seen
  std::vector<std::string> returns;    // what contradicts one lasting change, one sentence each
  std::vector<EvaluatedStack> evaluations;
};

template <>
struct Description<BisectAnswer> {
  static constexpr About about = About::part("bisect_answer");
  static void fields(auto& field, BisectAnswer& answer) {
    field("subject", answer.subject, rule::not_empty);
    field("word", answer.word);
    field("problem", answer.problem, "Why there is no change to name; empty: there is.");
    field("culprit", answer.culprit, "The change that brings what the bad end shows.");
    field("others", answer.others, "The other changes that were seen.");
    field("returns", answer.returns, "What contradicts one change for good.");
    field("evaluations", answer.evaluations, "As they came.");
    field.hold(answer.culprit.has_value() == answer.problem.empty(), "needs either a `culprit` or a `problem`");
  }
};

struct BisectDocument {
  std::vector<std::string> axis;     // stacks from the good end to the bad end
  std::string asked;                 // kBisectQuestions
  std::optional<double> margin;      // for speed: slower by more than this
  std::optional<double> confidence;  // for speed: confidence of an answer as a whole
  std::vector<BisectAnswer> answers;
  int stacks_run = 0;               // by this call; the others were known
  std::optional<AskedCheck> check;  // for a check: the one that failed in a run
};

inline constexpr std::string_view kBisectQuestions[] = {"bits", "speed", "check"};

template <>
struct Description<BisectDocument> {
  static constexpr About about =
      About::document("bisect", "Where on an axis of stacks a result changes, and what is known of that change");
  static void fields(auto& field, BisectDocument& document) {
    field("axis", document.axis, "Stacks from the good end to the bad end.");
    field("asked", document.asked, rule::one_of(kBisectQuestions));
    field.optional("margin", document.margin, "Of speed: slower by more than this.");
    field.optional("confidence", document.confidence, "Of speed: that an answer as a whole is right.");
    field("answers", document.answers);
    field("stacks_run", document.stacks_run, rule::at_least(0).says("In this call; the others were known."));
    field.optional("check", document.check, "The one that failed in a run.");
  }
};

// The answer of a search over these stacks. It lacks the parts of a change that only the stacks themselves can tell:
// `differing`, `judgement`, `components` and `command`.
BisectAnswer answer_of_search(const std::string& subject, const BisectSearch& search,
                              const std::vector<std::string>& axis);

}  // namespace reprobench

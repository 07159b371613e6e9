// The documents `comparison` and `comparisons`: the answer about two cells, or about a workload on two stacks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernels/diff/diff.hpp"
#include "matrix/contract/diagnosis.hpp"
#include "matrix/contract/metric.hpp"
#include "matrix/contract/outcome.hpp"
#include "matrix/numerics/bounds/local_error.hpp"
#include "matrix/numerics/calls/operator_divergence.hpp"
#include "matrix/numerics/calls/operator_region.hpp"
#include "matrix/numerics/calls/order_judgement.hpp"
#include "matrix/numerics/steps/discrete_events.hpp"
#include "matrix/numerics/steps/divergence_strip.hpp"
#include "matrix/numerics/steps/implementation_changes.hpp"
#include "matrix/numerics/steps/lockstep.hpp"
#include "matrix/numerics/steps/loss_equivalence.hpp"
#include "matrix/numerics/steps/match.hpp"
#include "matrix/numerics/steps/suspect.hpp"
#include "matrix/numerics/steps/tensor_distance.hpp"
#include "matrix/numerics/steps/trajectory.hpp"
#include "matrix/verdict/atlas/operator_atlas.hpp"
#include "matrix/verdict/divergence.hpp"

namespace reprobench {

// The first element of a tensor whose bits differ.
struct ElementFinding {
  std::string tensor;  // "output 0 of aten::addmm", "fc1.weight before step 20"
  std::vector<std::int64_t> shape;
  ElementType type = ElementType::raw64;  // not in the document: bits that were read are shown in all their 16 digits
  std::int64_t count = 0;                 // elements of the tensor
  std::int64_t differing = 0;
  std::int64_t block = 0;  // of 64 KiB
  std::int64_t index = 0;  // logical, row-major
  std::string measured_bits;
  std::string expected_bits;
  double measured = 0;  // NaN for a type without an arithmetic
  double expected = 0;
  std::optional<std::uint64_t> ulp;
  std::optional<std::uint64_t> max_ulp;         // of all elements
  std::optional<double> distance_rms = {};      // between the two, in units of the tensor's RMS
  std::optional<double> max_distance_rms = {};  // the largest of all elements
};

template <>
struct Description<ElementFinding> {
  static constexpr About about = About::part("element", "The first element whose bits differ.");
  static void fields(auto& field, ElementFinding& element) {
    field("tensor", element.tensor);
    field("shape", element.shape, rule::at_least(0));
    field("count", element.count, rule::at_least(0));
    field("differing", element.differing, rule::at_least(0));
    field("block", element.block);
    field("index", element.index, rule::at_least(0));
    field("measured_bits", element.measured_bits, rule::hex(16).says("In the low digits."));
    field("expected_bits", element.expected_bits, rule::hex(16));
    field("measured", element.measured);
    field("expected", element.expected);
    field("ulp", element.ulp);
    field("max_ulp", element.max_ulp, "Of all elements.");
    field.optional("distance_rms", element.distance_rms,
                   "Between the two, in units of the tensor's RMS: what ULP do not say across zero.");
    field.optional("max_distance_rms", element.max_distance_rms, "The largest of all elements.");
  }
};

// The results of a call, or of a subgraph of calls, on the same inputs on both sides, compared with fp64.
struct OperatorBudget {
  double measured_error_rel = 0;  // e_x, relative L2
  double expected_error_rel = 0;  // e_r
  double distance_rel = 0;        // between the two
  std::optional<double> amplification;
  std::optional<double> forms_apart_rel;  // between what the two sides ask for, both in fp64
  std::optional<LocalError> measured;     // of a single call
  std::optional<LocalError> expected;
  std::optional<OrderJudgement> order = {};  // of a single call that is a sum, where both sides' orders were read
};

template <>
struct Description<OperatorBudget> {
  static constexpr About about = About::part("operator_budget", "Relative L2 against the same operators in fp64.");
  static void fields(auto& field, OperatorBudget& budget) {
    field("measured_error_rel", budget.measured_error_rel);
    field("expected_error_rel", budget.expected_error_rel);
    field("distance_rel", budget.distance_rel);
    field("amplification", budget.amplification);
    field.optional("forms_apart_rel", budget.forms_apart_rel,
                   "Between what the two sides ask for, both in fp64: far above 1e-16, they ask for different things.");
    field.optional("measured", budget.measured);
    field.optional("expected", budget.expected);
    field.optional("order", budget.order, "What both sides' orders of summation say, where these were read.");
  }
};

// One side's calls of a module whose operators differ between the sides. Each is compared with fp64 from its own
// inputs.
struct ModuleSide {
  std::int64_t calls = 0;          // that make values; views make none
  std::optional<double> of_bound;  // the largest share of its own bound that one of them takes; above 1: beyond
  std::string call;                // that one
  std::string source;              // of its bound
  std::string no_bound;            // why the whole has none: a call without one
};

template <>
struct Description<ModuleSide> {
  static constexpr About about =
      About::part("module_side", "One side's calls of a module, each against fp64 from what it took itself.");
  static void fields(auto& field, ModuleSide& side) {
    field("calls", side.calls, rule::at_least(0).says("That make values; views make none."));
    field("of_bound", side.of_bound, "The largest share of its own bound that one of them takes; above 1: beyond.");
    field("call", side.call, "That one.");
    field("source", side.source, "Of its bound.");
    field("no_bound", side.no_bound, "Why the whole has none: a call without one.");
  }
};

// The judgement of a module whose operators differ between the sides.
struct ModuleJudgement {
  std::string module;  // the tap, "h.0.attn": of several the name they begin with; of an optimizer the parameter
  std::string pass;
  ExplainedWord word = ExplainedWord::undecided;
  std::string sentence;
  ModuleSide measured;
  ModuleSide expected;
  std::string farther;                   // the side that is farther from fp64, kSides; empty: neither
  std::optional<double> farther_factor;  // by so much
};

inline constexpr std::string_view kFartherSides[] = {"", "measured", "expected"};

template <>
struct Description<ModuleJudgement> {
  static constexpr About about = About::part(
      "module", "What a module is by itself whose operators differ between the sides: of its calls and of fp64.");
  static void fields(auto& field, ModuleJudgement& judged) {
    field("module", judged.module, "The tap; of several the name they begin with; of an optimizer the parameter.");
    field("pass", judged.pass, rule::one_of(kPasses));
    field("word", judged.word);
    field("sentence", judged.sentence);
    field("measured", judged.measured);
    field("expected", judged.expected);
    field("farther", judged.farther, rule::one_of(kFartherSides).says("From fp64; empty: neither side."));
    field("farther_factor", judged.farther_factor, "By so much.");
  }
};

struct Diagnosis {
  ExplainedWord word = ExplainedWord::undecided;
  std::string sentence;
};

template <>
struct Description<Diagnosis> {
  static constexpr About about = About::part("diagnosis", "What a difference is, out of all that is known of it.");
  static void fields(auto& field, Diagnosis& diagnosis) {
    field("word", diagnosis.word);
    field("sentence", diagnosis.sentence);
  }
};

struct StateLockstep {
  std::int64_t state = 0;  // the step after which it was taken
  LockstepWord word = LockstepWord::undecided;
  std::string sentence;
};

template <>
struct Description<StateLockstep> {
  static constexpr About about = About::part("lockstep_state");
  static void fields(auto& field, StateLockstep& judged) {
    field("state", judged.state, rule::at_least(0));
    field("word", judged.word);
    field("sentence", judged.sentence);
  }
};

// A tensor of one side's steps that a second process gave other bits, from the same state and batch.
struct UnrepeatedTensor {
  std::string side;  // its label
  std::string tensor;
  std::int64_t batch = 0;
  std::int64_t count = 0;  // elements of the tensor
  std::int64_t differing = 0;
  std::optional<std::uint64_t> max_ulp = {};
};

template <>
struct Description<UnrepeatedTensor> {
  static constexpr About about = About::part("unrepeated_tensor", "A tensor that a second process gave other bits.");
  static void fields(auto& field, UnrepeatedTensor& unrepeated) {
    field("side", unrepeated.side, "Its label.");
    field("tensor", unrepeated.tensor);
    field("batch", unrepeated.batch, rule::at_least(0));
    field("count", unrepeated.count, rule::at_least(0));
    field("differing", unrepeated.differing, rule::at_least(1));
    field("max_ulp", unrepeated.max_ulp);
  }
};

// The steps taken once more by both sides in further processes, where the first ones showed a defect.
struct LockstepAgain {
  LockstepWord word = LockstepWord::undecided;
  std::string sentence;
  std::vector<UnrepeatedTensor> unrepeated;  // at most one of each side, the worst tensor first
};

template <>
struct Description<LockstepAgain> {
  static constexpr About about =
      About::part("lockstep_again", "The steps taken once more in further processes, where the first showed a defect.");
  static void fields(auto& field, LockstepAgain& again) {
    field("word", again.word);
    field("sentence", again.sentence);
    field("unrepeated", again.unrepeated, "At most one tensor of each side; empty: both repeat themselves.");
  }
};

// A step behind the first difference. It is judged by the traces, or taken by both sides from the expected side's
// state.
struct LaterStep {
  std::int64_t step = 0;
  ExplainedWord word = ExplainedWord::undecided;
  std::string sentence;
  bool is_unrepeated = false;  // not in the document, `sentence` says it: a side gave other bits when it did the same
};

template <>
struct Description<LaterStep> {
  static constexpr About about = About::part("later_step", "A step behind the first difference.");
  static void fields(auto& field, LaterStep& later) {
    field("step", later.step, rule::at_least(1));
    field("word", later.word);
    field("sentence", later.sentence);
  }
};

// A source: one place of a step where different values arise from equal ones.
struct DifferenceSource {
  std::optional<OperatorDivergence> call;
  std::optional<OperatorRegion> region;  // without a call: what made the difference; with one: what it calls
  std::optional<ElementFinding> element;
  std::optional<OperatorBudget> budget;
  std::string no_budget;                  // why there is none
  std::optional<ModuleJudgement> module;  // of a region without a call
  bool on_substituted_inputs = false;     // it takes values that differ already, and was judged on the expected side's
  bool is_captured_otherwise = false;     // not in the document: `no_budget` says it, the diagnosis what comes of it
  bool needs_steps = false;               // nor this: the backward pass takes its results, and steps alone judge those
  bool gradients_deny_it = false;         // not in the document either: nor is what fp64 makes of the region held
                                          // against it; source_diagnosis.cpp
};

// A source behind the first one.
struct FurtherSource : DifferenceSource {
  bool inputs_agree = true;  // false: the call takes values that differ already, and its constants differ besides
  Diagnosis diagnosis;
};

template <>
struct Description<FurtherSource> {
  static constexpr About about =
      About::part("further_source", "A place of the step behind the first where other values arise out of equal ones.");
  static void fields(auto& field, FurtherSource& source) {
    field("diagnosis", source.diagnosis);
    field("inputs_agree", source.inputs_agree,
          "False: it takes values that differ already, and its constants differ besides.");
    field.optional("on_substituted_inputs", source.on_substituted_inputs,
                   "True: it takes values that differ already, and was judged on those of the expected side.");
    field("operator", source.call);
    field("region", source.region, "Where the sides take different operators.");
    field("element", source.element);
    field("operator_budget", source.budget);
    field("no_operator_budget", source.no_budget, "Why there is none.");
    field.optional("module", source.module, "Of the module whose operators differ between the sides.");
  }
};

struct Explanation : DifferenceSource {
  std::optional<Diagnosis> diagnosis;            // nothing: no call made the difference
  std::vector<std::string> diverging_operators;  // of that step
  std::vector<FurtherSource> further_sources;    // of that step, behind the first
  std::int64_t sources_left_out = 0;             // so many more of them are not on record
  std::int64_t calls_apart = 0;  // of that step, innermost: they take values that differ already and were not judged,
                                 // not on substituted inputs either
  std::int64_t gradient_calls_apart = 0;  // those and unpaired calls that make values before the optimizer
  std::optional<Lockstep> lockstep;
  std::optional<std::int64_t> lockstep_state;   // the step after which its common state was taken
  std::optional<LockstepAgain> lockstep_again;  // where the steps show a defect
  std::vector<StateLockstep> lockstep_states;   // from further states, if asked for
  std::vector<LaterStep> later_steps;           // in the order in which they were judged
  std::vector<std::string> not_reproduced;  // sides whose replay took another course than the run; stored in the notes
  Suspect suspect;
  std::vector<std::string> notes;
};

template <>
struct Description<Explanation> {
  static constexpr About about = About::part("explanation");
  static void fields(auto& field, Explanation& explanation) {
    field.optional("diagnosis", explanation.diagnosis, "Absent: no call made the difference.");
    field("operator", explanation.call);
    field.optional("region", explanation.region,
                   "Where the sides take different operators. Beside an operator: what it calls.");
    field("diverging_operators", explanation.diverging_operators);
    field("element", explanation.element);
    field("operator_budget", explanation.budget);
    field("no_operator_budget", explanation.no_budget, "Why there is none.");
    field.optional("module", explanation.module, "Of the module whose operators differ between the sides.");
    field.optional("further_sources", explanation.further_sources,
                   "Of that step, behind the first: every other place where equal inputs become different outputs.");
    field.optional("sources_left_out", explanation.sources_left_out,
                   rule::at_least(1).says("So many more of them are not on record."));
    field.optional("calls_apart", explanation.calls_apart,
                   rule::at_least(1).says("Innermost calls of that step that take values which differ already: they "
                                          "were not judged."));
    field.optional(
        "gradient_calls_apart", explanation.gradient_calls_apart,
        rule::at_least(0).says("Those of them, and calls without a partner, that make values before the optimizer."));
    field("lockstep", explanation.lockstep);
    field.optional("lockstep_state", explanation.lockstep_state,
                   rule::at_least(0).says("The step after which its common state was taken."));
    field.optional("lockstep_again", explanation.lockstep_again);
    field("lockstep_states", explanation.lockstep_states, "From further states, if asked for.");
    field.optional("later_steps", explanation.later_steps,
                   rule::not_empty_list.says("Behind the first difference, each from the expected side's state."));
    field("suspect", explanation.suspect);
    field("notes", explanation.notes);
  }
};

inline constexpr std::string_view kSides[] = {"measured", "expected"};

// The side whose loss stops being finite.
struct NonFinite {
  bool is_measured = true;
  std::int64_t step = 0;
  std::string sentence;
};

template <>
struct Description<NonFinite> {
  static constexpr About about = About::part("non_finite", "The side whose loss stops being finite.");
  static void fields(auto& field, NonFinite& non_finite) {
    field.as(
        "side", [&] { return std::string(kSides[non_finite.is_measured ? 0 : 1]); },
        [&](const std::string& side) { non_finite.is_measured = side == kSides[0]; }, rule::one_of(kSides));
    field("step", non_finite.step, rule::at_least(1));
    field("sentence", non_finite.sentence);
  }
};

// Time or memory of one stored cell, divided by another's.
struct CellRatio {
  std::string metric;
  std::string unit;
  std::optional<double> measured;
  std::optional<double> expected;
  std::optional<double> ratio;  // and its interval
  std::optional<double> ratio_low;
  std::optional<double> ratio_high;
  CheckStatus status = CheckStatus::inconclusive;
  std::string sentence;
};

template <>
struct Description<CellRatio> {
  static constexpr About about = About::part("ratio", "Time or memory of one stored cell by another's.");
  static void fields(auto& field, CellRatio& ratio) {
    field("metric", ratio.metric);
    field("unit", ratio.unit);
    field("measured", ratio.measured);
    field("expected", ratio.expected);
    field("ratio", ratio.ratio);
    field("ratio_low", ratio.ratio_low);
    field("ratio_high", ratio.ratio_high);
    field("status", ratio.status);
    field("sentence", ratio.sentence);
  }
};

// Of a training that ranks or replicas share out: whether one process that does all of it has their bits.
struct OneProcessJudgement {
  Match word = Match::not_comparable;  // `differs`: of the measured side alone, so the sharing out is broken there
  std::string sentence;
};

template <>
struct Description<OneProcessJudgement> {
  static constexpr About about =
      About::part("one_process", "Whether one process that does all micro-batches has the bits of the ranks.");
  static void fields(auto& field, OneProcessJudgement& judgement) {
    field("word", judgement.word, "differs: on the measured side alone, where sharing out the work changes it.");
    field("sentence", judgement.sentence);
  }
};

struct CellComparison {
  std::string measured;
  std::string expected;
  std::string measured_name;
  std::string expected_name;
  std::string workload;                // "gpt2/tiny, 20 steps of 8, fp32"
  Match word = Match::not_comparable;  // `equal` is said of all repeats of both sides
  std::string sentence;
  std::string
      losses_apart;  // further than their weights explain, and where; empty: they are not; stored in the sentence alone
  std::vector<std::string> doubts;  // why the repeats of a side are no whole evidence; stored in the sentence alone
  std::vector<CellRatio> ratios;    // of stored cells, as far as their suite measures them
  TraceComparison trace;
  std::vector<SideDifference> differences;
  std::optional<ImplementationChanges> implementations;  // nothing: neither side tells what computed it
  std::optional<DivergenceStrip> strip;                  // from here on: of tensors on record, where bits differ
  std::vector<EventFlips> events;
  std::optional<LossSplit> split;
  std::optional<OverBound> over_bound;
  std::optional<NonFinite> non_finite;
  std::optional<OneProcessJudgement> one_process;  // of ranks or replicas whose difference was asked about
  std::optional<TrajectoryJudgement> trajectory;   // class C, if asked for
  std::optional<LossEquivalence> equivalence;      // class D, if asked for
  std::optional<Explanation> explanation;
  std::vector<std::string> unanswered;  // what a replay that failed left unsaid; stored in the sentence alone
};

template <>
struct Description<CellComparison> {
  static constexpr About about =
      About::document("comparison", "Two cells or stacks: equal bits, or where and why they differ");
  static void fields(auto& field, CellComparison& comparison) {
    constexpr const char* kName =
        "For people: the slug of a stored cell, before it its run where there are two; a stack.";
    field("measured", comparison.measured);
    field("expected", comparison.expected);
    field("measured_name", comparison.measured_name, kName);
    field("expected_name", comparison.expected_name, kName);
    field("workload", comparison.workload);
    field("word", comparison.word);
    field("sentence", comparison.sentence);
    field("steps_compared", comparison.trace.steps_compared, rule::at_least(0));
    field("steps_differing", comparison.trace.steps_differing, rule::at_least(0));
    field("ratios", comparison.ratios, "Time and memory of two stored cells, as far as their suite measures them.");
    field("first_difference", comparison.trace.first);
    field("differences", comparison.differences);
    field.optional("implementations", comparison.implementations,
                   "Which operations other library code computed; absent: neither side tells.");
    field("strip", comparison.strip);
    field("discrete_events", comparison.events);
    field("loss_split", comparison.split);
    field("first_over_bound", comparison.over_bound);
    field("non_finite", comparison.non_finite);
    field.optional("one_process", comparison.one_process,
                   "Of ranks or replicas: what follows is of one process that does all their micro-batches.");
    field("trajectory", comparison.trajectory);
    field("equivalence", comparison.equivalence);
    field("explanation", comparison.explanation);
  }
};

// comparisons.json: a run's cells compared with their reference cells, or the cells of two runs.
struct ComparisonsDocument {
  std::vector<CellComparison> comparisons;
  std::vector<std::string> without_partner = {};  // cells of either run that are in no pair, RUN:CELL
  std::optional<OperatorAtlas> operators = {};    // of runs that made operator calls beside their trainings
};

template <>
struct Description<ComparisonsDocument> {
  static constexpr About about = About::document("comparisons", "Comparisons of the cells of one run or two");
  static void fields(auto& field, ComparisonsDocument& document) {
    field("comparisons", document.comparisons);
    field.optional("without_partner", document.without_partner,
                   rule::not_empty_list.says("Cells of either run that are in no pair."));
    field.optional("operators", document.operators, "Of runs that made operator calls beside their trainings.");
  }
};

nlohmann::json to_json(const CellComparison& comparison);
nlohmann::json to_json(const std::vector<CellComparison>& comparisons,
                       const std::vector<std::string>& without_partner = {},
                       const std::optional<OperatorAtlas>& operators = {});

// Both throw ContractError naming the field.
CellComparison comparison_from_json(const nlohmann::json& json);
std::vector<CellComparison> comparisons_from_json(const nlohmann::json& json);

}  // namespace reprobench

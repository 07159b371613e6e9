#include "matrix/inquiry/explain/source_diagnosis.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/inquiry/explain/module_judgement.hpp"
#include "matrix/inquiry/explain/source_judgement.hpp"

namespace reprobench {
namespace {

bool output_types_differ(const OperatorDivergence& call) {
  if (call.output >= std::min(call.measured.outputs.size(), call.expected.outputs.size())) return false;
  return call.measured.outputs[call.output].dtype != call.expected.outputs[call.output].dtype;
}

bool is_beyond(const std::optional<LocalError>& error) { return error && error->of_bound && *error->of_bound > 1; }

// Null where the orders say something else, or nothing.
const OrderJudgement* order_with(OrderWord word, const DifferenceSource& source) {
  const bool has_it = source.call && source.budget && source.budget->order && source.budget->order->word == word;
  return has_it ? &*source.budget->order : nullptr;
}

// A bound that is met by far would hide what a proof does not: "addmm" of mlp reaches 0.0011 of its own.
constexpr double kLooseBound = 20;

std::string loose_bound(const OperatorBudget& budget) {
  double largest = 0;
  for (const auto* error : {&budget.measured, &budget.expected}) {
    if (!*error || !(*error)->of_bound) return "";
    largest = std::max(largest, *(*error)->of_bound);
  }
  if (largest == 0 || largest * kLooseBound >= 1) return "";
  return fmt::format("; by its bound alone, {:.0f} times the larger error would pass", 1 / largest);
}

std::string why_no_proof(const DifferenceSource& source) {
  const OrderJudgement* none = order_with(OrderWord::unknown, source);
  return none != nullptr ? "; " + none->sentence : "";
}

// Beyond its bound, or within it and not what the side's own order gives: a softmax of attention scores that are near
// to zero, each scaled by 1 + 2^-20, lies at a fifth of its bound.
bool is_beyond(const DifferenceSource& source) {
  if (source.module) return source.module->word == ExplainedWord::defect;
  if (!source.call || !source.budget) return false;
  return is_beyond(source.budget->measured) || is_beyond(source.budget->expected) ||
         order_with(OrderWord::broken, source) != nullptr;
}

std::string beyond_text(const DifferenceSource& source) {
  const OperatorBudget& budget = *source.budget;
  const auto side = [](const char* name, const std::optional<LocalError>& error) {
    return is_beyond(error) ? fmt::format("on the {} side by {:.3g} times", name, *error->of_bound) : "";
  };
  std::vector<std::string> sides{side("measured", budget.measured), side("expected", budget.expected)};
  std::erase(sides, "");
  if (sides.empty()) return budget.order->sentence;
  const std::string buffer = filled_buffer(*source.call);
  return fmt::format("{}{} is off by more than it can round: {} the bound ({})", source.call->measured.name,
                     buffer.empty() ? "" : fmt::format(", in `{}`,", buffer), fmt::join(sides, ", "),
                     (is_beyond(budget.measured) ? budget.measured : budget.expected)->source);
}

// Why the operator or subgraph by itself shows nothing but rounding; empty: it does not show that.
std::string local_rounding(const DifferenceSource& source) {
  const auto& budget = source.budget;
  if (!budget) return "";
  if (!source.call) {
    const bool is_rounding = source.module && source.module->word == ExplainedWord::rounding;
    if (!is_rounding) return "";
    const std::string& module = source.module->module;
    return fmt::format("at {} {}", module.empty() ? "calls of no module" : fmt::format("`{}`", module),
                       within_text(*source.module));
  }
  if (const OrderJudgement* proof = order_with(OrderWord::proven, source))
    return proof->sentence + loose_bound(*budget);
  const auto& ours = budget->measured;
  const auto& theirs = budget->expected;
  if (!ours || !theirs || !ours->of_bound || !theirs->of_bound) return "";
  return fmt::format("{} stays within its bound on both sides, {:.2g} and {:.2g} of it", source.call->measured.name,
                     *ours->of_bound, *theirs->of_bound);
}

std::string no_local_rounding(const DifferenceSource& source) {
  if (source.module) return "at " + source.module->sentence;
  const auto& budget = source.budget;
  if (!budget) return source.no_budget;
  for (const auto* error : {&budget->measured, &budget->expected}) {
    if (*error && !(*error)->no_bound.empty()) return (*error)->no_bound;
  }
  return "there is nothing in fp64 on both sides";
}

bool is_bad_by_itself(const DifferenceSource& source) {
  return is_beyond(source) || !other_computation(source).empty();
}

// Pooling tells two errors of a few roundings apart, and so it finds that one order of summation was luckier than
// another: the gradients of gpt2's normalisations at its first step are 1.8 times as far off on two threads as on one,
// by 3e-7. Where every difference between gradients comes out of calls that stay within a derived bound, that is all it
// can have found, as long as each batch keeps class B2. Gradients alone are pooled.
bool only_pooling_contradicts(const Explanation& explanation) {
  const auto& lockstep = explanation.lockstep;
  if (!lockstep || lockstep->word != LockstepWord::defect) return false;
  const auto shows_a_defect = [](const LockstepTensor& tensor) { return tensor.word == LockstepWord::defect; };
  const auto is_by_pooling = [](const LockstepTensor& tensor) {
    return tensor.pooled && tensor.pooled->decision == BudgetDecision::defect &&
           tensor.error_ratio <= tensor.error_ratio_bound && tensor.nan_mismatches + tensor.inf_mismatches == 0;
  };
  const auto& tensors = lockstep->tensors;
  const bool is_pooled =
      std::ranges::any_of(tensors, shows_a_defect) && std::ranges::all_of(tensors, [&](const LockstepTensor& tensor) {
        return tensor.word == LockstepWord::rounding || (shows_a_defect(tensor) && is_by_pooling(tensor));
      });
  const auto is_within_bound = [](const DifferenceSource& source) {
    return !source.needs_steps && !is_bad_by_itself(source) && !local_rounding(source).empty();
  };
  return is_pooled && explanation.gradient_calls_apart == 0 && explanation.sources_left_out == 0 &&
         is_within_bound(explanation) && std::ranges::all_of(explanation.further_sources, is_within_bound);
}

// Calls correspond by name and shape where their values differ. One release scales both factors before a product and
// another one what it gives: then the products of their backward passes are pairs, and the values they take are two
// times apart by right. A backward pass makes gradients and nothing else: what is this far apart in earnest, the
// gradients of the same step show, for they are held to a few roundings.
constexpr double kShownByGradientsRel = 1e-3;

bool gradients_deny(const DifferenceSource& source, const Explanation& explanation) {
  const auto& lockstep = explanation.lockstep;
  if (source.call || !source.region || !source.module || !source.budget || !source.budget->forms_apart_rel)
    return false;
  if (!lockstep || lockstep->word != LockstepWord::rounding || !explanation.lockstep_state) return false;
  const std::int64_t before = *explanation.lockstep_state;
  const auto is_held = [&](const OperatorSubgraph& subgraph) {
    return subgraph.is_taken && subgraph.at.pass == "backward" && subgraph.at.step > before &&
           subgraph.at.step <= before + lockstep->batches;
  };
  return is_held(source.region->measured) && is_held(source.region->expected) &&
         *source.budget->forms_apart_rel >= kShownByGradientsRel && difference_in_kind(*source.region).empty() &&
         !reprobench::is_beyond(source.module->measured) && !reprobench::is_beyond(source.module->expected);
}

void believe_gradients(DifferenceSource& source, const Explanation& explanation) {
  if (!gradients_deny(source, explanation)) return;
  source.gradients_deny_it = true;
  ModuleJudgement& module = *source.module;
  module.word = ExplainedWord::undecided;
  module.farther = "";
  module.farther_factor.reset();
  module.sentence = fmt::format(
      "{} (backward): in fp64 the values that {} takes on the two sides are {:.2e} apart, and no gradient of the same "
      "step shows it: the two calls have a name and a shape in common, not a value",
      module.module.empty() ? "calls of no module" : fmt::format("`{}`", module.module),
      source.region->measured.at.name, *source.budget->forms_apart_rel);
}

// With what the steps against fp64 say to it.
Diagnosis with_lockstep(const DifferenceSource& source, const Explanation& explanation) {
  const std::optional<Lockstep>& lockstep = explanation.lockstep;
  const std::string local = local_rounding(source);
  const std::string here = local.empty() ? no_local_rounding(source) : local;
  const bool is_defect_by_steps = lockstep && lockstep->word == LockstepWord::defect;
  if (source.is_captured_otherwise && !is_defect_by_steps) return {ExplainedWord::undecided, here};
  if (!lockstep) {
    if (local.empty()) return {ExplainedWord::undecided, here};
    if (source.needs_steps) {
      return {ExplainedWord::undecided,
              here + "; the backward pass takes its results, and no step was held against fp64"};
    }
    return {ExplainedWord::rounding, here + "; no step was held against fp64"};
  }
  if (only_pooling_contradicts(explanation)) {
    return {ExplainedWord::rounding,
            fmt::format("{}, as does every call that makes gradients differ; that pooled over all batches one side is "
                        "farther from fp64 comes of its order of summation",
                        here)};
  }
  switch (lockstep->word) {
    case LockstepWord::defect:
      if (local.empty()) return {ExplainedWord::defect, "the steps against fp64 say so; " + here};
      return {ExplainedWord::rounding, here + "; the defect that the steps against fp64 show is not its own"};
    case LockstepWord::undecided:
      return {ExplainedWord::undecided, fmt::format("the steps against fp64 do not decide; {}", here)};
    default:
      return {ExplainedWord::rounding, local.empty() ? fmt::format("by the steps against fp64 alone; {}", here)
                                                     : fmt::format("{}, and the steps against fp64 confirm it", here)};
  }
}

// How bad a source is; of two defects the one that the operator itself shows is worse, for it explains the steps.
int rank_of(const DifferenceSource& source, ExplainedWord word) {
  return rank_of(word) + (word == ExplainedWord::defect && is_beyond(source) ? 1 : 0);
}

// "aten::mul_ (optimizer of `fc2.weight`)".
std::string place_of(const DifferenceSource& source) {
  if (source.call) {
    const OperatorRecord& call = source.call->measured;
    return fmt::format("{} ({} of `{}`)", call.name, call.pass, call.module.empty() ? "no module" : call.module);
  }
  const OperatorRegion& region = *source.region;
  const OperatorRecord& call = (region.measured.calls.empty() ? region.expected : region.measured).calls.front();
  return fmt::format("{} against {} ({} of `{}`)", names_of(region.measured, 4), names_of(region.expected, 4),
                     call.pass, call.module.empty() ? "no module" : call.module);
}

// "2 further sources in that step: 1 defect, 1 rounding".
std::string count_text(const Explanation& explanation) {
  const auto& sources = explanation.further_sources;
  std::vector<std::string> counts;
  for (const ExplainedWord word :
       {ExplainedWord::defect, ExplainedWord::another_computation, ExplainedWord::undecided, ExplainedWord::rounding}) {
    const auto count = std::count_if(sources.begin(), sources.end(),
                                     [&](const FurtherSource& source) { return source.diagnosis.word == word; });
    if (count > 0) counts.push_back(fmt::format("{} {}", count, to_string(word)));
  }
  if (explanation.sources_left_out > 0) counts.push_back(fmt::format("{} not judged", explanation.sources_left_out));
  const auto all = static_cast<std::int64_t>(sources.size()) + explanation.sources_left_out;
  return fmt::format("{} further source{} in that step: {}", all, all == 1 ? "" : "s", fmt::join(counts, ", "));
}

bool has_first_source(const Explanation& explanation) { return explanation.call || explanation.region; }

// The steps say defect, and every source on record is shown to be rounding by its own bound.
bool is_blameless(const Explanation& explanation, ExplainedWord worst) {
  const auto& lockstep = explanation.lockstep;
  return lockstep && lockstep->word == LockstepWord::defect && worst == ExplainedWord::rounding &&
         !only_pooling_contradicts(explanation);
}

// A replay that took another course than its run says nothing good about the run.
void doubt_other_courses(Explanation& explanation) {
  if (explanation.not_reproduced.empty()) return;
  const std::string doubt = fmt::format("not judged: the replay of {} took another course than the run",
                                        fmt::join(explanation.not_reproduced, " and of "));
  auto& diagnosis = explanation.diagnosis;
  if (!diagnosis) {
    diagnosis = Diagnosis{ExplainedWord::undecided, doubt};
  } else if (diagnosis->word == ExplainedWord::rounding || diagnosis->word == ExplainedWord::undecided) {
    diagnosis = Diagnosis{ExplainedWord::undecided, fmt::format("{}; of the replay: {}", doubt, diagnosis->sentence)};
  }
}

// Sources that nobody looked at are rounding only if the steps say so.
void doubt_what_is_left_out(const Explanation& explanation, Diagnosis& diagnosis) {
  if (explanation.sources_left_out == 0 || diagnosis.word != ExplainedWord::rounding) return;
  if (!explanation.lockstep || explanation.lockstep->word != LockstepWord::rounding) {
    diagnosis.word = ExplainedWord::undecided;
  }
}

}  // namespace

std::string other_computation(const DifferenceSource& source) {
  if (const auto& call = source.call) {
    if (call->constants_differ) {
      return fmt::format("the constants of {} differ: {} against {}", call->measured.name, call->measured.constants,
                         call->expected.constants);
    }
    if (output_types_differ(*call)) {
      return fmt::format("{} makes {} against {}", call->measured.name, call->measured.outputs[call->output].dtype,
                         call->expected.outputs[call->output].dtype);
    }
  }
  return other_question(source);
}

int rank_of(ExplainedWord word) {
  switch (word) {
    case ExplainedWord::rounding:
      return 0;
    case ExplainedWord::undecided:
      return 1;
    case ExplainedWord::another_computation:
      return 2;
    default:
      return 3;
  }
}

Diagnosis source_diagnosis(const DifferenceSource& source, const Explanation& explanation) {
  Diagnosis diagnosis;
  if (is_bad_by_itself(source) && source.module) return {source.module->word, "at " + source.module->sentence};
  if (const std::string other = other_computation(source); !other.empty()) {
    diagnosis = {ExplainedWord::another_computation, other};
  } else if (is_beyond(source)) {
    diagnosis = {ExplainedWord::defect, beyond_text(source)};
  } else {
    diagnosis = with_lockstep(source, explanation);
    if (diagnosis.word == ExplainedWord::rounding) diagnosis.sentence += why_no_proof(source);
  }
  if (source.budget && !source.gradients_deny_it) {
    const std::string farther = farther_side(*source.budget);
    const bool is_said = diagnosis.sentence.find(farther) != std::string::npos;  // by a module's own sentence
    if (!farther.empty() && !is_said) diagnosis.sentence += "; " + farther;
  }
  return diagnosis;
}

const DifferenceSource& blamed_source(const Explanation& explanation) {
  const DifferenceSource* worst = &explanation;
  int rank = has_first_source(explanation) ? rank_of(explanation, source_diagnosis(explanation, explanation).word) : -1;
  for (const FurtherSource& source : explanation.further_sources) {
    const int own = rank_of(source, source.diagnosis.word);
    if (own <= rank) continue;
    rank = own;
    worst = &source;
  }
  return *worst;
}

bool is_shown_by_a_call(const Explanation& explanation) {
  const DifferenceSource& blamed = blamed_source(explanation);
  return (blamed.call || blamed.region) && is_bad_by_itself(blamed);
}

bool repeats_itself(const Explanation& explanation) {
  const auto& again = explanation.lockstep_again;
  const bool repeats_steps = explanation.not_reproduced.empty() && (!again || again->unrepeated.empty());
  return repeats_steps && !explanation.is_captured_otherwise &&
         std::ranges::none_of(explanation.further_sources, &FurtherSource::is_captured_otherwise) &&
         std::ranges::none_of(explanation.later_steps, &LaterStep::is_unrepeated);
}

std::string blamed_operator(const Explanation& explanation) {
  const DifferenceSource& blamed = blamed_source(explanation);
  if (!blamed.call && !blamed.region) return "";
  return is_blameless(explanation, source_diagnosis(blamed, explanation).word) ? "" : operator_of(blamed);
}

namespace {

std::optional<Diagnosis> leading_diagnosis(const Explanation& explanation) {
  if (!has_first_source(explanation) && explanation.further_sources.empty()) return std::nullopt;
  const DifferenceSource& blamed = blamed_source(explanation);
  // What differed before any call may be what the steps say: no call behind it is blamed for that.
  if (!has_first_source(explanation) && !is_bad_by_itself(blamed)) return std::nullopt;
  Diagnosis diagnosis = source_diagnosis(blamed, explanation);
  if (is_blameless(explanation, diagnosis.word)) {
    diagnosis = {ExplainedWord::defect,
                 fmt::format("the steps against fp64 say so ({}), and every call on record that makes a difference "
                             "stays within its own bound: none is blamed",
                             explanation.lockstep->sentence)};
  } else if (&blamed != &explanation) {
    diagnosis.sentence =
        fmt::format("{}{}{}: {}", kBehindFirst, place_of(blamed),
                    blamed.on_substituted_inputs ? ", on the values of the expected side" : "", diagnosis.sentence);
    if (has_first_source(explanation)) {
      diagnosis.sentence +=
          fmt::format("; the first one by itself: {}", to_string(source_diagnosis(explanation, explanation).word));
    }
  }
  if (!explanation.further_sources.empty()) diagnosis.sentence += "; " + count_text(explanation);
  doubt_what_is_left_out(explanation, diagnosis);
  return diagnosis;
}

}  // namespace

void diagnose_sources(Explanation& explanation) {
  believe_gradients(explanation, explanation);
  for (FurtherSource& source : explanation.further_sources) believe_gradients(source, explanation);
  for (FurtherSource& source : explanation.further_sources) {
    source.diagnosis = source_diagnosis(source, explanation);
  }
  explanation.diagnosis = leading_diagnosis(explanation);
  const auto& again = explanation.lockstep_again;
  if (explanation.diagnosis && again && !again->unrepeated.empty()) {
    explanation.diagnosis->sentence += "; " + again->sentence;
  }
  doubt_other_courses(explanation);
}

}  // namespace reprobench

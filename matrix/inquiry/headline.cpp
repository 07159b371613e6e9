#include "matrix/inquiry/headline.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace reprobench {
namespace {

// An error below this is as good as none: a quarter of the unit of fp32.
constexpr double kNoErrorRel = 0x1p-26;

bool output_types_differ(const OperatorDivergence& call) {
  if (call.output >= std::min(call.measured.outputs.size(), call.expected.outputs.size())) return false;
  return call.measured.outputs[call.output].dtype != call.expected.outputs[call.output].dtype;
}

// What differs in what was asked for; empty: nothing that is on record.
std::string other_computation(const Explanation& explanation) {
  if (const auto& call = explanation.call) {
    if (call->constants_differ) {
      return fmt::format("the constants of {} differ: {} against {}", call->measured.name, call->measured.constants,
                         call->expected.constants);
    }
    if (output_types_differ(*call)) {
      return fmt::format("{} makes {} against {}", call->measured.name, call->measured.outputs[call->output].dtype,
                         call->expected.outputs[call->output].dtype);
    }
  }
  if (explanation.region) {
    const std::string kind = difference_in_kind(*explanation.region);
    if (!kind.empty()) return kind;
  }
  const auto& budget = explanation.budget;
  if (budget && budget->forms_apart_rel && !(*budget->forms_apart_rel <= kSameFormRel)) {
    return fmt::format("in fp64, on equal values, the two sides are {:.2e} apart", *budget->forms_apart_rel);
  }
  return "";
}

bool is_beyond(const std::optional<LocalError>& error) { return error && error->of_bound && *error->of_bound > 1; }

std::string beyond_text(const Explanation& explanation) {
  const OperatorBudget& budget = *explanation.budget;
  const auto side = [](const char* name, const std::optional<LocalError>& error) {
    return is_beyond(error) ? fmt::format("on the {} side by {:.3g} times", name, *error->of_bound) : "";
  };
  std::vector<std::string> sides{side("measured", budget.measured), side("expected", budget.expected)};
  std::erase(sides, "");
  return fmt::format("{} is off by more than it can round: {} the bound ({})", explanation.call->measured.name,
                     fmt::join(sides, ", "), (is_beyond(budget.measured) ? budget.measured : budget.expected)->source);
}

// "the expected side is 33 times as far from fp64 as the measured one"; empty: they are about as far.
std::string farther_side(const OperatorBudget& budget) {
  const double ours = std::max(budget.measured_error_rel, kNoErrorRel);
  const double theirs = std::max(budget.expected_error_rel, kNoErrorRel);
  const double factor = std::max(ours, theirs) / std::min(ours, theirs);
  if (!(factor >= kFartherFactor)) return "";
  const bool is_ours = ours > theirs;
  return fmt::format("the {} side is {:.3g} times as far from fp64 as the {} one", is_ours ? "measured" : "expected",
                     factor, is_ours ? "expected" : "measured");
}

// Why the operator or stretch by itself shows nothing but rounding; empty: it does not show that.
std::string local_rounding(const Explanation& explanation) {
  const auto& budget = explanation.budget;
  if (!budget) return "";
  if (!explanation.call) {
    return budget->forms_apart_rel ? "in fp64, on equal values, the two stretches make the same" : "";
  }
  const auto& ours = budget->measured;
  const auto& theirs = budget->expected;
  if (!ours || !theirs || !ours->of_bound || !theirs->of_bound) return "";
  return fmt::format("{} stays within its bound on both sides, {:.2g} and {:.2g} of it",
                     explanation.call->measured.name, *ours->of_bound, *theirs->of_bound);
}

std::string no_local_rounding(const Explanation& explanation) {
  const auto& budget = explanation.budget;
  if (!budget) return explanation.no_budget;
  for (const auto* error : {&budget->measured, &budget->expected}) {
    if (*error && !(*error)->no_bound.empty()) return (*error)->no_bound;
  }
  return "there is nothing in fp64 on both sides";
}

// With what the steps against fp64 say to it.
Headline with_lockstep(const Explanation& explanation) {
  const std::string local = local_rounding(explanation);
  const std::string here = local.empty() ? no_local_rounding(explanation) : local;
  if (!explanation.lockstep) {
    if (local.empty()) return {ExplainedWord::undecided, here};
    return {ExplainedWord::rounding, here + "; no step was held against fp64"};
  }
  switch (explanation.lockstep->word) {
    case LockstepWord::defect:
      return {ExplainedWord::defect,
              fmt::format("the steps against fp64 say so{}{}", local.empty() ? "; " : ", though ", here)};
    case LockstepWord::undecided:
      return {ExplainedWord::undecided, fmt::format("the steps against fp64 do not decide; {}", here)};
    default:
      return {ExplainedWord::rounding, local.empty() ? fmt::format("by the steps against fp64 alone; {}", here)
                                                     : fmt::format("{}, and the steps against fp64 confirm it", here)};
  }
}

}  // namespace

std::optional<Headline> headline_of(const Explanation& explanation) {
  if (!explanation.call && !explanation.region) return std::nullopt;
  Headline headline;
  if (const std::string other = other_computation(explanation); !other.empty()) {
    headline = {ExplainedWord::another_computation, other};
  } else if (explanation.call && explanation.budget &&
             (is_beyond(explanation.budget->measured) || is_beyond(explanation.budget->expected))) {
    headline = {ExplainedWord::defect, beyond_text(explanation)};
  } else {
    headline = with_lockstep(explanation);
  }
  if (explanation.budget) {
    const std::string farther = farther_side(*explanation.budget);
    if (!farther.empty()) headline.sentence += "; " + farther;
  }
  return headline;
}

}  // namespace reprobench

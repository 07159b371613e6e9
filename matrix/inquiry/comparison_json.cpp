#include <fmt/format.h>

#include "matrix/contract/number.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/inquiry/comparison.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

json divergence_json(const Divergence& first) {
  return {{"step", first.step},
          {"tensor", first.tensor},
          {"role", first.role},
          {"measured_digest", first.measured_digest},
          {"expected_digest", first.expected_digest}};
}

json element_json(const ElementFinding& finding) {
  const ElementPair& first = *finding.difference.first;
  return {
      {"tensor", finding.tensor},
      {"shape", finding.shape},
      {"count", finding.difference.count},
      {"differing", finding.difference.differing},
      {"block", finding.difference.first_block},
      {"index", first.index},
      {"measured_bits", hex64(first.bits_a)},
      {"expected_bits", hex64(first.bits_b)},
      {"measured", json_number(element_value(finding.type, first.bits_a))},
      {"expected", json_number(element_value(finding.type, first.bits_b))},
      {"ulp", first.ulp ? json(*first.ulp) : json(nullptr)},
      {"max_ulp", finding.difference.largest && finding.difference.largest->ulp ? json(*finding.difference.largest->ulp)
                                                                                : json(nullptr)}};
}

json budget_json(const Explanation& explanation) {
  if (!explanation.budget) return nullptr;
  const OperatorBudget& budget = *explanation.budget;
  return {{"measured_error_rel", json_number(budget.measured_error_rel)},
          {"expected_error_rel", json_number(budget.expected_error_rel)},
          {"distance_rel", json_number(budget.distance_rel)},
          {"amplification", budget.amplification ? json_number(*budget.amplification) : json(nullptr)}};
}

json explanation_json(const Explanation& explanation) {
  json result = {
      {"operator", nullptr},
      {"diverging_operators", explanation.diverging_operators},
      {"element", explanation.element ? element_json(*explanation.element) : json(nullptr)},
      {"operator_budget", budget_json(explanation)},
      {"no_operator_budget", explanation.no_budget},
      {"lockstep", nullptr},
      {"suspect", {{"component", explanation.suspect.component}, {"sentence", explanation.suspect.sentence}}},
      {"notes", explanation.notes}};
  if (explanation.call) {
    result["operator"] = {{"measured", to_json(explanation.call->measured)},
                          {"expected", to_json(explanation.call->expected)},
                          {"output", explanation.call->output},
                          {"constants_differ", explanation.call->constants_differ},
                          {"calls_compared", explanation.call->calls_compared},
                          {"calls_unmatched", explanation.call->calls_unmatched}};
  }
  if (explanation.lockstep) {
    result["lockstep"] = to_json(*explanation.lockstep);
    result["lockstep_state"] = explanation.lockstep_state;
  }
  result["lockstep_states"] = json::array();
  for (const auto& [state, lockstep] : explanation.lockstep_states) {
    result["lockstep_states"].push_back(
        {{"state", state}, {"word", to_string(lockstep.word)}, {"sentence", lockstep.sentence}});
  }
  return result;
}

json events_json(const std::vector<EventFlips>& events) {
  json list = json::array();
  for (const EventFlips& flips : events) {
    list.push_back({{"event", flips.event},
                    {"steers", flips.steers},
                    {"first_step", flips.first_step},
                    {"flips", flips.flips},
                    {"steps_with_flips", flips.steps_with_flips}});
  }
  return list;
}

json split_json(const LossSplit& split) {
  return {{"step", split.step},
          {"distance_rel", json_number(split.distance_rel)},
          {"before_rel", json_number(split.before_rel)},
          {"event", split.event}};
}

json over_bound_json(const OverBound& over) {
  return {{"step", over.step},
          {"role", to_string(over.role)},
          {"tensor", over.tensor},
          {"distance_rel", json_number(over.distance_rel)},
          {"bound_rel", json_number(over.bound_rel)}};
}

json number_or_null(const std::optional<double>& number) { return number ? json_number(*number) : json(nullptr); }

json ratio_json(const CheckResult& ratio) {
  return {{"metric", ratio.metric},
          {"unit", ratio.unit},
          {"measured", number_or_null(ratio.measured)},
          {"expected", number_or_null(ratio.reference)},
          {"ratio", number_or_null(ratio.ratio)},
          {"ratio_low", number_or_null(ratio.ratio_low)},
          {"ratio_high", number_or_null(ratio.ratio_high)},
          {"status", to_string(ratio.status)},
          {"sentence", ratio.sentence}};
}

}  // namespace

json to_json(const CellComparison& comparison) {
  json result = document("comparison");
  result["measured"] = comparison.measured;
  result["expected"] = comparison.expected;
  result["measured_name"] = comparison.measured_name;
  result["expected_name"] = comparison.expected_name;
  result["workload"] = comparison.workload;
  result["word"] = to_string(comparison.word);
  result["sentence"] = comparison.sentence;
  result["steps_compared"] = comparison.trace.steps_compared;
  result["steps_differing"] = comparison.trace.steps_differing;
  result["ratios"] = json::array();
  for (const CheckResult& ratio : comparison.ratios) result["ratios"].push_back(ratio_json(ratio));
  result["first_difference"] = comparison.trace.first ? divergence_json(*comparison.trace.first) : json(nullptr);
  result["differences"] = json::array();
  for (const SideDifference& difference : comparison.differences) {
    result["differences"].push_back(
        {{"what", difference.what}, {"measured", difference.measured}, {"expected", difference.expected}});
  }
  result["strip"] = to_json(comparison.strip);
  result["discrete_events"] = events_json(comparison.events);
  result["loss_split"] = comparison.split ? split_json(*comparison.split) : json(nullptr);
  result["first_over_bound"] = comparison.over_bound ? over_bound_json(*comparison.over_bound) : json(nullptr);
  result["non_finite"] = nullptr;
  if (comparison.non_finite) {
    result["non_finite"] = {{"side", comparison.non_finite->is_measured ? "measured" : "expected"},
                            {"step", comparison.non_finite->step},
                            {"sentence", comparison.non_finite->sentence}};
  }
  result["trajectory"] = comparison.trajectory ? to_json(*comparison.trajectory) : json(nullptr);
  result["equivalence"] = comparison.equivalence ? to_json(*comparison.equivalence) : json(nullptr);
  result["explanation"] = comparison.explanation ? explanation_json(*comparison.explanation) : json(nullptr);
  return result;
}

}  // namespace reprobench

#include <fmt/format.h>

#include "matrix/cli/comparison.hpp"
#include "matrix/contract/number.hpp"
#include "matrix/contract/version.hpp"

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
  return result;
}

}  // namespace

json to_json(const CellComparison& comparison) {
  json result = document("comparison");
  result["measured"] = comparison.measured;
  result["expected"] = comparison.expected;
  result["workload"] = comparison.workload;
  result["word"] = comparison.word;
  result["sentence"] = comparison.sentence;
  result["steps_compared"] = comparison.trace.steps_compared;
  result["steps_differing"] = comparison.trace.steps_differing;
  result["first_difference"] = comparison.trace.first ? divergence_json(*comparison.trace.first) : json(nullptr);
  result["differences"] = json::array();
  for (const SideDifference& difference : comparison.differences) {
    result["differences"].push_back(
        {{"what", difference.what}, {"measured", difference.measured}, {"expected", difference.expected}});
  }
  result["explanation"] = comparison.explanation ? explanation_json(*comparison.explanation) : json(nullptr);
  return result;
}

}  // namespace reprobench

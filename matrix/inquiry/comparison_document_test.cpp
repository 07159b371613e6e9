// The documents `comparison` and `comparisons`, there and back.
#include "matrix/inquiry/comparison_document.hpp"

#include <fstream>
#include <limits>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

json golden(const char* file) {
  std::ifstream stream(std::string(REPROBENCH_SOURCE_ROOT "/matrix/contract/testdata/") + file);
  return json::parse(stream);
}

// With one of everything that two cells can differ in.
CellComparison full_comparison() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CellComparison comparison = comparison_from_json(golden("2.0/comparison.json"));
  comparison.measured_name = "smoke-mlp-b";
  comparison.expected_name = "r1:smoke-mlp-a";
  comparison.ratios = {{"memory.peak_rss", "bytes", 150, 100, 1.5, 1.25, kInfinity, CheckStatus::failed, "x1.500"},
                       {"throughput.step_time", "ns", {}, {}, {}, {}, {}, CheckStatus::inconclusive, "too few"}};
  comparison.strip = DivergenceStrip{{1, 2, 3}, {{"fc1", "..f"}, {"fc2", "..p"}}};
  comparison.events = {{"relu_active", true, 3, 2, 5}, {"argmax", false, 4, 1, 1}};
  comparison.split = LossSplit{3, 0.5, 1e-7, "relu_active"};
  comparison.over_bound = OverBound{2, TensorRole::parameter_gradient, "fc1.weight", 2e-5, 1e-5};
  comparison.non_finite = NonFinite{false, 17, "the loss of a is not finite at step 17"};
  comparison.trajectory = TrajectoryJudgement{
      "within", "no further apart", 8, 2, {{{1, 1e-9}, 1e-7}, {{3, kInfinity}, {}}}, Growth{0.5, 0.01, 69.3, 2}};
  comparison.equivalence = LossEquivalence{true, "shown", 5, 0.005, {{1, 50, {0.1, -0.2, 0.3, 0.5, 4, 0.01, true}}}};
  Explanation& explanation = *comparison.explanation;
  explanation.lockstep_states = {{100, LockstepWord::defect, "a tensor shows a defect"}};
  explanation.element->ulp = std::numeric_limits<std::uint64_t>::max();
  explanation.element->measured = kInfinity;
  explanation.notes = {"a note"};
  return comparison;
}

TEST_CASE("a comparison of contract 2.0 is read, and is the same when it is written again", "[comparison]") {
  const json document = golden("2.0/comparison.json");
  const CellComparison comparison = comparison_from_json(document);
  CHECK(comparison.word == Match::differs);
  CHECK(comparison.trace.first->tensor == "fc2.weight");
  CHECK(comparison.explanation->call->measured.name == "aten::mm");
  CHECK(comparison.explanation->element->ulp == 1);
  CHECK(comparison.explanation->element->measured_bits == "000000003bc15925");
  CHECK(comparison.explanation->element->expected_bits == "000000003bc15926");
  CHECK(comparison.explanation->lockstep->tensors.at(0).pooled->bound == 1.4708777718344788);
  CHECK(comparison.explanation->lockstep->tensors.at(0).ulp_histogram.at(1) == 231);
  CHECK(to_json(comparison) == document);
  const json equal = golden("2.0/comparison_of_one_cell.json");
  CHECK(comparison_from_json(equal).word == Match::equal);
  CHECK_FALSE(comparison_from_json(equal).trace.first);
  CHECK(to_json(comparison_from_json(equal)) == equal);
}

TEST_CASE("comparisons of contract 2.0 are read, and are the same when they are written again", "[comparison]") {
  const json document = golden("2.0/comparisons.json");
  const auto comparisons = comparisons_from_json(document);
  REQUIRE(comparisons.size() == 2);
  CHECK(comparisons[0].measured_name == "smoke-mlp-torch-2.9.0-cu128-cpu");
  CHECK(comparisons[1].strip->rows.size() == document.at("comparisons").at(1).at("strip").at("rows").size());
  CHECK(to_json(comparisons) == document);
  json without = document;
  without["comparisons"][0].erase("ratios");
  CHECK_THROWS_WITH(comparisons_from_json(without), "comparisons: `comparisons/0/ratios` is missing");
}

TEST_CASE("a comparison with one of everything survives its document", "[comparison]") {
  const CellComparison comparison = full_comparison();
  const json document = to_json(comparison);
  const CellComparison back = comparison_from_json(json::parse(document.dump()));
  CHECK(to_json(back) == document);
  CHECK(back.ratios.at(0).ratio_high == std::numeric_limits<double>::infinity());
  CHECK_FALSE(back.ratios.at(1).measured);
  CHECK(back.strip->rows.at(1).marks == "..p");
  CHECK_FALSE(back.events.at(1).steers);
  CHECK(back.over_bound->role == TensorRole::parameter_gradient);
  CHECK_FALSE(back.non_finite->is_measured);
  CHECK(back.trajectory->points.at(0).bound_rel == 1e-7);
  CHECK(document.at("trajectory").at("points").at(1).at("bound_rel").is_null());
  CHECK(back.equivalence->windows.at(0).result.p_value == 0.01);
  CHECK(back.explanation->lockstep_states.at(0).word == LockstepWord::defect);
  CHECK(back.explanation->element->ulp == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("each value of a comparison stands under its own name", "[comparison]") {
  const json document = to_json(full_comparison());
  const auto [key, text] = GENERATE(table<const char*, const char*>({
      {"ratios/0", R"({"metric": "memory.peak_rss", "unit": "bytes", "measured": 150.0, "expected": 100.0, "ratio": 1.5,
                       "ratio_low": 1.25, "ratio_high": "inf", "status": "failed", "sentence": "x1.500"})"},
      {"strip/rows/0", R"({"module": "fc1", "marks": "..f"})"},
      {"discrete_events/0",
       R"({"event": "relu_active", "steers": true, "first_step": 3, "flips": 2, "steps_with_flips": 5})"},
      {"loss_split", R"({"step": 3, "distance_rel": 0.5, "before_rel": 1e-7, "event": "relu_active"})"},
      {"first_over_bound", R"({"step": 2, "role": "parameter_gradient", "tensor": "fc1.weight", "distance_rel": 2e-5,
                               "bound_rel": 1e-5})"},
      {"non_finite", R"({"side": "expected", "step": 17, "sentence": "the loss of a is not finite at step 17"})"},
      {"trajectory/growth", R"({"alpha": 0.5, "lambda_per_step": 0.01, "doubling_steps": 69.3})"},
      {"trajectory/points/1", R"({"step": 3, "distance_rel": "inf", "bound_rel": null})"},
      {"equivalence/windows/0", R"({"first_step": 1, "last_step": 50, "difference": 0.1, "low": -0.2, "high": 0.3,
                                    "margin": 0.5, "p_value": 0.01, "equivalent": true})"},
      {"explanation/lockstep_states/0", R"({"state": 100, "word": "defect", "sentence": "a tensor shows a defect"})"},
  }));
  CHECK(document.at(json::json_pointer(std::string("/") + key)) == json::parse(text));
}

TEST_CASE("what a comparison without differences has none of is null, never left out", "[comparison]") {
  const json document = to_json(comparison_from_json(golden("2.0/comparison_of_one_cell.json")));
  for (const char* key : {"first_difference", "strip", "loss_split", "first_over_bound", "non_finite", "trajectory",
                          "equivalence", "explanation"}) {
    CHECK(document.at(key).is_null());
  }
}

TEST_CASE("comparisons are read as a list, and a fault is named with its place", "[comparison]") {
  const std::vector<CellComparison> both{full_comparison(), CellComparison{}};
  const json document = to_json(both);
  CHECK(document.at("schema") == "reprobench/comparisons");
  REQUIRE(comparisons_from_json(document).size() == 2);
  CHECK(to_json(comparisons_from_json(document)) == document);
  const auto [path, value, problem] = GENERATE(table<const char*, json, const char*>({
      {"word", "same", "is `same`, none of equal, differs, not_comparable"},
      {"steps_compared", -1, "is -1, under 0"},
      {"strip/rows/0/marks", "..x", "has other letters than `.ipfmlgdsb`"},
      {"non_finite/side", "left", "is `left`, none of measured, expected"},
      {"first_over_bound/role", "weight",
       "is `weight`, none of input, parameter, forward_output, mask, choice, loss, "
       "grad_output, parameter_gradient, optimizer_state, buffer, scaler_state"},
      {"trajectory/word", "inside", "is `inside`, none of within, outside, not_judged"},
      {"explanation/element/measured_bits", "3bc15926", "is not 16 hex digits"},
      {"explanation/lockstep/tensors/0/pooled/decision", "ok", "is `ok`, none of rounding, defect, inconclusive"},
      {"explanation/operator/measured/kind", "step", "is `step`, not `operator`"},
      {"explanation/lockstep_state", -1, "is -1, under 0"},
      {"surprise", 1, "is not a field of this document"},
  }));
  json broken = document;
  broken[json::json_pointer(std::string("/comparisons/0/") + path)] = value;
  CHECK_THROWS_WITH(comparisons_from_json(broken), "comparisons: `comparisons/0/" + std::string(path) + "` " + problem);
}

}  // namespace
}  // namespace reprobench

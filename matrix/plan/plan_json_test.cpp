#include "matrix/plan/plan_json.hpp"

#include "ci/catch.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/plan/plan_fixture.hpp"

using namespace reprobench;

namespace {

// Every field away from its default somewhere.
Plan sample_plan() {
  const SuiteSpec suite = parse_test_suite(
      "smoke",
      "repeat: 3\ntrace: tensor\npoison_last_repeat: true\nexclusive: true\ntimeout: 90s\n"
      "thresholds:\n  throughput.step_time: {max_regression: 5%, vs: reference}\n  memory.peak_rss: {max: 1GiB}\n");
  const MatrixSpec matrix = parse_test_matrix(
      "axes: {stack: [a, b], precision: [bf16]}\nreference: {stack: b}\nrequired: [{stack: a}]\n"
      "thresholds: {memory.peak_rss: {gate: record_only}}\n"
      "inject: [{where: {stack: a}, repeat: 1, kind: weight_ulp, step: 20, tensor: fc1.weight, element: 5}]\n");
  Plan plan;
  plan.matrix = "m";
  plan.matrix_file = "dir:with:colons/m.yaml";
  plan.host = gpu_host("NVIDIA H100", "9.0", "570.124.06", 2);
  plan.declared = {{"a", {{"torch", "2.9.0+cu128"}}}};
  for (Cell& cell : expand(matrix, {{"smoke", suite}})) plan.cells.push_back({std::move(cell), std::nullopt, {}});
  plan.cells[0].notes = {"a note"};
  plan.cells[1].skip = Skip{"device-class", "needs a GPU of class sm_90, this host has none"};
  return plan;
}

}  // namespace

TEST_CASE("a plan survives its document", "[plan]") {
  const Plan plan = sample_plan();
  const nlohmann::json document = to_json(plan);
  const Plan back = plan_from_json(document);
  CHECK(to_json(back) == document);
  REQUIRE(back.cells.size() == 2);
  const Cell& cell = back.cells[0].cell;
  CHECK(cell.request.cell_id == plan.cells[0].cell.request.cell_id);
  CHECK(cell.request.trace == TraceLevel::tensor);
  CHECK(cell.reference_cell_id == back.cells[1].cell.request.cell_id);
  CHECK(cell.limits.total == std::chrono::seconds(90));
  CHECK(cell.injections.at(1).element == 5);
  CHECK(cell.thresholds.size() == 2);
  CHECK(cell.thresholds[0].mark.file == "smoke.yaml");
  CHECK(cell.thresholds[0].mark.line == 10);
  CHECK(cell.thresholds[1].gate == Gate::record_only);
  CHECK(back.cells[1].skip->rule == "device-class");
  CHECK(back.host.gpus.size() == 2);
}

TEST_CASE("totals count what the plan holds", "[plan]") {
  const nlohmann::json totals = to_json(sample_plan())["totals"];
  CHECK(totals["planned"] == 2);
  CHECK(totals["runnable"] == 1);
  CHECK(totals["skipped"] == 1);
}

TEST_CASE("the streamed plan is the document", "[plan]") {
  for (const Plan& plan : {sample_plan(), Plan{}}) {
    std::string text;
    write_plan(plan, [&](std::string_view part) { text += part; });
    CHECK(nlohmann::json::parse(text) == to_json(plan));
  }
}

TEST_CASE("a plan that lacks a field is refused by name", "[plan]") {
  nlohmann::json document = to_json(sample_plan());
  document["cells"][0].erase("slug");
  CHECK_THROWS_WITH(plan_from_json(document), "plan: `slug` is missing");
  document = to_json(sample_plan());
  document["cells"][0]["thresholds"][0]["bound"]["kind"] = "about";
  CHECK_THROWS_AS(plan_from_json(document), ContractError);
  document = to_json(sample_plan());
  document.erase("cells");
  CHECK_THROWS_WITH(plan_from_json(document), "plan: `cells` is missing");
}

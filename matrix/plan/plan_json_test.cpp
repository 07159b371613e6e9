#include "matrix/plan/plan_json.hpp"

#include <algorithm>
#include <fstream>

#include "ci/catch.hpp"
#include "matrix/base/contract_error.hpp"
#include "matrix/plan/plan_fixture.hpp"

using namespace reprobench;

namespace {

// Every field away from its default somewhere.
Plan sample_plan() {
  const SuiteSpec suite = parse_test_suite(
      "smoke",
      "repeat: 3\nmax_repeat: 12\ntrace: tensor\npoison_last_repeat: true\nexclusive: true\ntimeout: 90s\n"
      "thresholds:\n  throughput.step_time: {max_regression: 5%, vs: reference}\n  memory.peak_rss: {max: 1GiB}\n");
  const MatrixSpec matrix = parse_test_matrix(
      "axes: {stack: [a, b], precision: [bf16]}\nreference: {stack: b}\nrequired: [{stack: a}]\n"
      "thresholds: {memory.peak_rss: {gate: record_only}}\n"
      "inject: [{where: {stack: a}, repeat: 1, kind: weight_ulp, step: 20, tensor: fc1.weight, element: 5}]\n");
  Plan plan;
  plan.matrix = "m";
  plan.matrix_file = "dir:with:colons/m.yaml";
  plan.request = {{"--stack a", "--filter 'precision == bf16'"}, {"--repeat 1"}, {"--repeat 1"}, true};
  plan.host = gpu_host("NVIDIA H100", "9.0", "570.124.06", 2);
  plan.declared = {{"a", {{"torch", "2.9.0+cu128"}}}};
  plan.cells = expand(matrix, {{"smoke", suite}});
  plan.excluded = 4;
  plan.cells[0].notes = {"a note"};
  plan.cells[1].skip = Skip{"device-class", "needs a GPU of class sm_90, this host has none"};
  return plan;
}

nlohmann::json document_of(const Plan& plan) {
  std::string text;
  write_plan(plan, [&](std::string_view part) { text += part; });
  return nlohmann::json::parse(text);
}

}  // namespace

TEST_CASE("every knob of a cell is what it chose, and the default of what it did not", "[plan]") {
  const auto [name, value] = GENERATE(std::pair("seed", "7"), std::pair("precision", "bf16"), std::pair("threads", "1"),
                                      std::pair("of another release", "on"));
  CHECK(every_knob({{name, value}}) == with_defaults({{name, value}}));
  CHECK(every_knob({}) == with_defaults({}));
}

TEST_CASE("the knobs of one cell leave nothing behind in those of the next", "[plan]") {
  const KnobValues first = {{"seed", "7"}, {"precision", "bf16"}, {"of another release", "on"}};
  const KnobValues second = {{"seed", "8"}, {"threads", "1"}};
  for (const KnobValues* chosen : {&first, &second, &first, &first, &second}) {
    CHECK(every_knob(*chosen) == with_defaults(*chosen));
  }
  CHECK(every_knob(every_knob(first)) == with_defaults(first));
}

TEST_CASE("plans of contract 2.0 are read, and are the same when they are written again", "[plan]") {
  const auto* file = GENERATE("plan.json", "plan_of_hosts.json");
  std::ifstream stream(std::string(REPROBENCH_SOURCE_ROOT "/matrix/contract/testdata/2.0/") + file);
  const nlohmann::json document = nlohmann::json::parse(stream);
  CHECK(document_of(plan_from_json(document)) == document);
}

TEST_CASE("a plan survives its document", "[plan]") {
  const Plan plan = sample_plan();
  const nlohmann::json document = document_of(plan);
  const Plan back = plan_from_json(document);
  CHECK(document_of(back) == document);
  REQUIRE(back.cells.size() == 2);
  const Cell& cell = back.cells[0].cell;
  CHECK(cell.request.cell_id == plan.cells[0].cell.request.cell_id);
  CHECK(cell.request.knobs == with_defaults(plan.cells[0].cell.request.knobs));
  CHECK(cell.request.trace == TraceLevel::tensor);
  CHECK(cell.reference_cell_id == back.cells[1].cell.request.cell_id);
  CHECK(cell.limits.total == std::chrono::seconds(90));
  CHECK(cell.injections.at(1).element == 5);
  CHECK(cell.thresholds.size() == 3);  // and what its differing numbers are
  CHECK(cell.thresholds[0].mark.file == "smoke.yaml");
  CHECK(cell.thresholds[0].mark.line == 11);
  CHECK(cell.thresholds[1].gate == Gate::record_only);
  CHECK(cell.thresholds[1].mark.file == "smoke.yaml");
  CHECK(cell.thresholds[1].gate_mark.file == plan.cells[0].cell.thresholds[1].gate_mark.file);
  CHECK(cell.thresholds[1].gate_mark.line > 0);
  CHECK(cell.thresholds[0].gate_mark.file.empty());
  CHECK(back.request == plan.request);
  CHECK(back.cells[1].skip->rule == "device-class");
  CHECK(back.host.gpus.size() == 2);
}

TEST_CASE("a plan names the images that its stacks are, and one without images has no such field", "[plan]") {
  Plan plan = sample_plan();
  CHECK_FALSE(document_of(plan).contains("images"));
  plan.images["candidate"] = {"new.tar", "sha256:0c", "clean", "clean: 0 failures", std::string(64, 'a')};
  CHECK(plan_from_json(document_of(plan)).images == plan.images);
  plan.images["candidate"].inspection = "fine";
  CHECK_THROWS_AS(plan_from_json(document_of(plan)), ContractError);
}

TEST_CASE("totals count what the plan holds", "[plan]") {
  const nlohmann::json totals = document_of(sample_plan())["totals"];
  CHECK(totals["planned"] == 2);
  CHECK(totals["runnable"] == 1);
  CHECK(totals["skipped"] == 1);
}

TEST_CASE("a plan of many cells is written in many parts", "[plan]") {
  Plan plan = sample_plan();
  while (plan.cells.size() < 300) plan.cells.push_back(plan.cells.front());
  std::size_t parts = 0;
  std::size_t longest = 0;
  write_plan(plan, [&](std::string_view part) {
    ++parts;
    longest = std::max(longest, part.size());
  });
  CHECK(parts > 3);
  CHECK(parts < 12);
  CHECK(longest < 100'000);
  CHECK(document_of(plan)["cells"].size() == 300);
  CHECK(document_of({})["cells"] == nlohmann::json::array());
}

TEST_CASE("a cell that holds only chosen knobs is written with all, and stays as it is", "[plan]") {
  Plan plan = sample_plan();
  plan.cells[0].cell.request.knobs = {{"threads", "2"}};
  const nlohmann::json document = document_of(plan);
  CHECK(document["cells"][0]["request"]["knobs"] == nlohmann::json(with_defaults({{"threads", "2"}})));
  CHECK(to_json(plan.cells[0]) == document["cells"][0]);
  CHECK(plan.cells[0].cell.request.knobs.size() == 1);
  CHECK(plan_from_json(document).cells[0].cell.request.knobs == with_defaults({{"threads", "2"}}));
}

TEST_CASE("a name on a host is the name and the host, and comes off again", "[plan]") {
  CHECK(name_on_host("smoke-mlp", "a") == "smoke-mlp@a");
  CHECK(name_without_host("smoke-mlp@a") == "smoke-mlp");
  CHECK(name_without_host("smoke-mlp") == "smoke-mlp");
  CHECK(name_without_host("@a").empty());
}

TEST_CASE("a host of a merged plan has a label of at most 64 letters, and runs", "[plan]") {
  Plan plan = sample_plan();
  plan.hosts = {{std::string(64, 'a'), {"r-1"}, plan.host}};
  nlohmann::json document = document_of(plan);
  CHECK(plan_from_json(document).hosts.at(0).runs == plan.hosts[0].runs);
  document["hosts"][0]["label"] = std::string(65, 'a');
  CHECK_THROWS_WITH(plan_from_json(document), "plan: `hosts/0/label` has 65 letters, over 64");
  document = document_of(plan);
  document["hosts"][0]["runs"] = nlohmann::json::array();
  CHECK_THROWS_WITH(plan_from_json(document), "plan: `hosts/0/runs` holds 0 items, under 1");
  document["hosts"] = nlohmann::json::array();
  CHECK_THROWS_WITH(plan_from_json(document), "plan: `hosts` holds 0 items, under 1");
}

TEST_CASE("a plan that lacks a field is refused by name", "[plan]") {
  nlohmann::json document = document_of(sample_plan());
  document["cells"][0].erase("slug");
  CHECK_THROWS_WITH(plan_from_json(document), "plan: `cells/0/slug` is missing");
  document = document_of(sample_plan());
  document["cells"][0]["thresholds"][0]["bound"]["kind"] = "about";
  CHECK_THROWS_AS(plan_from_json(document), ContractError);
  document = document_of(sample_plan());
  document.erase("cells");
  CHECK_THROWS_WITH(plan_from_json(document), "plan: `cells` is missing");
}

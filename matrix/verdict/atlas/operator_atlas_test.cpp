#include "matrix/verdict/atlas/operator_atlas.hpp"

#include "ci/catch.hpp"
#include "matrix/base/usage_error.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

const std::vector<std::string> kAtlasCalls = {"relu(f32[2])", "exp(f32[2])"};

// stack-a is 2.10.0 and the reference, stack-b 2.9.0 with other bits of its second call.
RunRecord sample_atlas() {
  RunRecord run = sample::run(1, 1, {});
  for (PlannedCell& planned : run.plan.cells) {
    planned.cell.request.workload = {"", "base", 0, 0, "operators", 1};
    planned.cell.request.workload.calls = kAtlasCalls;
  }
  run.plan.declared["stack-a"]["torch"] = "2.10.0+cu128";
  run.plan.declared["stack-b"]["torch"] = "2.9.0+cu128";
  for (std::size_t cell : {0, 1}) {
    CellResult& result = *run.cells[cell].attempts.front().lead().result;
    result.fingerprint.cpu_model = "A CPU";
    result.fingerprint.cpu_capability = "AVX512";
    result.measurements = {sample::call_record(kAtlasCalls[0], '0'),
                           sample::call_record(kAtlasCalls[1], cell == 0 ? '0' : '1')};
  }
  return run;
}

TEST_CASE("columns stand by release, rows by the list, each against the run's reference", "[verdict]") {
  const OperatorAtlas atlas = operator_atlas(sample_atlas()).value();
  REQUIRE(atlas.columns.size() == 2);
  CHECK(atlas.columns[0].release == "2.9.0");  // before 2.10.0, which a text would not put so
  CHECK(atlas.columns[1].release == "2.10.0");
  CHECK(atlas.reference == 1);
  CHECK(atlas.cpu == "A CPU, AVX512");
  REQUIRE(atlas.rows.size() == 2);
  CHECK(atlas.rows[0].call == kAtlasCalls[0]);
  CHECK(atlas.rows[0].by_column[0].word == CallWord::equal);
  CHECK(atlas.rows[1].by_column[0].word == CallWord::rounding);
  CHECK(atlas.rows[1].by_column[1].word == CallWord::equal);
  CHECK(atlas.planted.empty());
}

// Beside these stack-c, 2.11.0, with the bits of stack-b.
RunRecord sample_of_three() {
  RunRecord run = sample_atlas();
  run.plan.cells.push_back(run.plan.cells[1]);
  run.cells.push_back(run.cells[1]);
  Cell& cell = run.plan.cells.back().cell;
  cell.request.stack = cell.coordinates["stack"] = "stack-c";
  cell.request.cell_id = run.cells.back().cell_id = "cccc";
  cell.slug = "suite-mlp-stack-c";
  run.plan.declared["stack-c"]["torch"] = "2.11.0+cu128";
  return run;
}

TEST_CASE("columns before and behind the reference stand against it, and not against each other", "[verdict]") {
  const OperatorAtlas atlas = operator_atlas(sample_of_three()).value();
  REQUIRE(atlas.columns.size() == 3);
  CHECK(atlas.columns[2].release == "2.11.0");
  const std::vector<CallComparison>& second_call = atlas.rows[1].by_column;
  for (const std::size_t other : {0, 2}) {
    CHECK(reference_of(atlas, other) == 1U);
    CHECK(second_call[other].word == CallWord::rounding);
  }
  CHECK_FALSE(reference_of(atlas, 1));
  CHECK(second_call[1].word == CallWord::equal);
  const OperatorAtlas by_name = operator_atlas(sample_of_three(), "2.9.0").value();
  CHECK(reference_of(by_name, 2) == 0U);
  CHECK(by_name.rows[1].by_column[1].word == CallWord::rounding);
  CHECK(by_name.rows[1].by_column[2].word == CallWord::equal);
}

TEST_CASE("beside a cell that was named its reference alone stays, wherever it stands", "[verdict]") {
  const auto [reference, cell, columns, place] = GENERATE(table<std::string, std::string, std::string, std::size_t>(
      {{"", "suite-mlp-stack-c", "2.10.0 2.11.0 ", 0},
       {"", "suite-mlp-stack-b", "2.9.0 2.10.0 ", 1},
       {"2.11.0", "suite-mlp-stack-a", "2.10.0 2.11.0 ", 1}}));
  CAPTURE(reference, cell);
  const OperatorAtlas atlas = operator_atlas(sample_of_three(), reference, cell).value();
  std::string names;
  for (const AtlasColumn& column : atlas.columns) names += column.release + " ";
  CHECK(names == columns);
  CHECK(atlas.reference == place);
  CHECK(atlas.rows[1].by_column[1 - place].word == CallWord::rounding);
}

TEST_CASE("another column may be the reference, by release or stack; a name that none has is refused", "[verdict]") {
  CHECK(operator_atlas(sample_atlas(), "2.9.0")->reference == 0);
  CHECK(operator_atlas(sample_atlas(), "stack-b")->reference == 0);
  CHECK_THROWS_AS(operator_atlas(sample_atlas(), "2.9"), UsageError);
}

TEST_CASE("a cell that did not end well has a column with the reason and no word but unknown", "[verdict]") {
  RunRecord run = sample_atlas();
  AttemptRecord& attempt = sample::candidate(run).attempts.front();
  attempt.end = AttemptEnd::store;
  attempt.detail = "rank-0/result.json changed since it was judged";
  const OperatorAtlas atlas = operator_atlas(run).value();
  CHECK_THAT(atlas.columns[0].problem, Catch::Contains("changed since it was judged"));
  for (const AtlasRow& row : atlas.rows) CHECK(row.by_column[0].word == CallWord::unknown);
}

// Gives a cell of the sample a second process.
AttemptRecord& second_process(RunRecord& run, std::size_t cell) {
  run.plan.cells[cell].cell.repeat = 2;
  std::vector<AttemptRecord>& attempts = run.cells[cell].attempts;
  attempts.push_back(attempts.front());
  attempts.back().repeat = 1;
  return attempts.back();
}

TEST_CASE("every process of a cell is looked at, and the strongest word stands", "[verdict]") {
  for (const std::size_t cell : {0, 1}) {  // of the reference, and of the other
    RunRecord run = sample_atlas();
    second_process(run, cell);
    CHECK(operator_atlas(run)->rows[0].by_column[0].word == CallWord::equal);
    AttemptRecord& second = run.cells[cell].attempts.back();
    second.lead().result->measurements[0] = sample::call_record(kAtlasCalls[0], '7');
    second.lead().result->measurements[0].call->outputs[0].error_rel = 1;
    CHECK(operator_atlas(run)->rows[0].by_column[0].word == CallWord::defect);
    std::swap(run.cells[cell].attempts[0].lead().result, second.lead().result);
    CHECK(operator_atlas(run)->rows[0].by_column[0].word == CallWord::defect);
  }
}

TEST_CASE("a cell of which one process did not end well, or was never started, has no records", "[verdict]") {
  RunRecord run = sample_atlas();
  second_process(run, 1).end = AttemptEnd::crash;
  CHECK_THAT(operator_atlas(run)->columns[0].problem, Catch::StartsWith("crash"));
  CHECK(operator_atlas(run)->rows[0].by_column[0].word == CallWord::unknown);
  run.cells[1].attempts.pop_back();
  CHECK(operator_atlas(run)->columns[0].problem == "it was not run");
}

TEST_CASE("without the reference's records nothing is equal", "[verdict]") {
  RunRecord run = sample_atlas();
  run.cells[0].attempts.clear();
  const OperatorAtlas atlas = operator_atlas(run).value();
  for (const AtlasRow& row : atlas.rows) {
    CHECK(row.by_column[0].word == CallWord::unknown);
    CHECK(row.by_column[1].word == CallWord::unknown);
  }
}

TEST_CASE("a planted fault makes the atlas a drill", "[verdict]") {
  RunRecord run = sample_atlas();
  run.plan.cells[1].cell.injections[0] = Injection{"result_bit", 2, "", 0};
  CHECK(operator_atlas(run)->planted ==
        std::vector<std::string>{"result_bit in call 2 of " + run.plan.cells[1].cell.slug});
}

TEST_CASE("of columns of one release each has its name, with what it does not share with the others", "[verdict]") {
  RunRecord run = sample_atlas();
  run.plan.declared["stack-c"]["torch"] = "2.9.0";
  run.plan.declared["stack-d"]["cudnn"] = "9.1";  // no torch
  for (const char* stack : {"stack-c", "stack-d", "stack-e"}) {
    run.plan.cells.push_back(run.plan.cells[1]);
    run.cells.push_back(run.cells[1]);
    Cell& cell = run.plan.cells.back().cell;
    cell.request.stack = cell.coordinates["stack"] = stack;
    cell.request.cell_id = run.cells.back().cell_id = std::string("id of ") + stack;
  }
  run.plan.cells[2].cell.coordinates["threads"] = "2";
  run.plan.cells[3].cell.coordinates["threads"] = "1";
  const OperatorAtlas atlas = operator_atlas(run).value();
  REQUIRE(atlas.columns.size() == 5);
  const char* expected[][3] = {{"stack-d threads=1", "stack-d threads=1", "id of stack-d"},  // of no release: first
                               {"stack-e", "stack-e", "id of stack-e"},
                               {"stack-b", "stack-b", sample::kCandidateId},
                               {"stack-c threads=2", "stack-c threads=2", "id of stack-c"},
                               {"stack-a", "2.10.0", sample::kReferenceId}};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(atlas.columns[i].name == expected[i][0]);
    CHECK(atlas.columns[i].release == expected[i][1]);
    CHECK(atlas.columns[i].cell_id == expected[i][2]);
  }
  CHECK(atlas.reference == 4);
  CHECK(operator_atlas(run, "stack-c")->reference == 3);
  CHECK(operator_atlas(run, "stack-c threads=2")->reference == 3);
  CHECK(operator_atlas(run, "2.10.0")->reference == 4);
  CHECK_THROWS_WITH(operator_atlas(run, "2.9.0"), "no column of the atlas is called `2.9.0`");
  CHECK_THROWS_AS(operator_atlas(run, "stack-"), UsageError);
}

TEST_CASE("releases stand by their numbers, the first one first among equals", "[verdict]") {
  const auto order = [](const std::string& a, const std::string& b) {
    RunRecord run = sample_atlas();
    run.plan.declared["stack-a"]["torch"] = a;
    run.plan.declared["stack-b"]["torch"] = b;
    return operator_atlas(run)->columns[0].name;
  };
  CHECK(order("2.9.0", "2.10.0") == "stack-a");
  CHECK(order("2.9.10", "2.9.9") == "stack-b");
  CHECK(order("2.9", "2.9.1") == "stack-a");
  CHECK(order("2.9.1", "2.9") == "stack-b");
  CHECK(order("10", "9") == "stack-b");
  CHECK(order("2.0.9", "2.0.10") == "stack-a");
  CHECK(order("2.9.0a", "2.9.0b") == "stack-a");  // no other number
  CHECK(order("2.9.0b", "2.9.0a") == "stack-a");
}

TEST_CASE("columns are those cells that were to make calls, with the reason where they made none", "[verdict]") {
  RunRecord run = sample_atlas();
  SECTION("left out") {
    run.plan.cells[0].skip = Skip{"deselected", "not asked for"};
    const OperatorAtlas atlas = operator_atlas(run).value();
    REQUIRE(atlas.columns.size() == 1);
    CHECK(atlas.columns[0].name == "stack-b");
    CHECK(atlas.reference == 0);  // the one that is there
  }
  SECTION("skipped") {
    run.plan.cells[1].skip = Skip{"no-wheel", "there is none"};
    CHECK(operator_atlas(run)->columns[0].problem == "skipped: no-wheel: there is none");
    CHECK(operator_atlas(run)->rows[0].by_column[0].word == CallWord::unknown);
  }
  SECTION("forgotten") {
    run.cells.pop_back();
    CHECK(operator_atlas(run)->columns[0].problem == "it was not run");
    CHECK(operator_atlas(run)->cpu == "A CPU, AVX512");
  }
  SECTION("of no probe") {
    run.plan.cells[0].cell.request.workload.probe = "";
    run.plan.cells[0].cell.request.workload.calls = {"of no column"};
    CHECK(operator_atlas(run)->columns.size() == 1);
    CHECK(operator_atlas(run)->rows.size() == 2);
  }
  SECTION("compared with none") {
    run.plan.cells[1].cell.reference_cell_id.reset();
    CHECK(operator_atlas(run)->reference == 0);
  }
  CHECK(operator_atlas(run)->run == "r-sample");
}

TEST_CASE("rows are every cell's calls, each once, and every processor is named once", "[verdict]") {
  RunRecord run = sample_atlas();
  run.plan.cells[1].cell.request.workload.calls = {"exp(f32[2])", "tan(f32[2])"};
  run.cells[1].attempts.front().lead().result->fingerprint.cpu_capability = "AVX2";
  const OperatorAtlas atlas = operator_atlas(run).value();
  REQUIRE(atlas.rows.size() == 3);
  CHECK(atlas.rows[1].call == "exp(f32[2])");
  CHECK(atlas.rows[2].call == "tan(f32[2])");
  CHECK(atlas.rows[2].by_column[0].word == CallWord::unknown);
  CHECK(atlas.cpu == "A CPU, AVX2; A CPU, AVX512");
  run.plan.cells[0].cell.injections[1] = Injection{"result_bit", 1, "", 0};
  run.plan.cells[1].cell.injections[0] = Injection{"result_bit", 2, "", 0};
  CHECK(operator_atlas(run)->planted == std::vector<std::string>{"result_bit in call 1 of suite-mlp-stack-a",
                                                                 "result_bit in call 2 of suite-mlp-stack-b"});
}

TEST_CASE("a run that made no operator calls has no atlas", "[verdict]") {
  CHECK_FALSE(operator_atlas(sample::run(1, 1, {})).has_value());
}

}  // namespace
}  // namespace reprobench

#include "matrix/verdict/operator_atlas.hpp"

#include "ci/catch.hpp"
#include "matrix/contract/usage_error.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

const std::vector<std::string> kAtlasCalls = {"relu(f32[2])", "exp(f32[2])"};

ProbeMeasurement atlas_record(const std::string& call, char digit) {
  CallOutput output{"output.0", "float32", {2}, std::string(32, digit), 5e-8, 0, "", std::vector<double>(8, 1), {}, 1};
  output.fp64_sums = output.sums;
  ProbeMeasurement measurement;
  measurement.labels = {{"call", call}};
  measurement.status = MeasurementStatus::measured;
  measurement.call = CallRecord{CallEnd::ran, std::string(32, 'e'), true, {output}};
  return measurement;
}

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
    result.measurements = {atlas_record(kAtlasCalls[0], '0'), atlas_record(kAtlasCalls[1], cell == 0 ? '0' : '1')};
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
    second.lead().result->measurements[0] = atlas_record(kAtlasCalls[0], '7');
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

TEST_CASE("a run that made no operator calls has no atlas", "[verdict]") {
  CHECK_FALSE(operator_atlas(sample::run(1, 1, {})).has_value());
}

}  // namespace
}  // namespace reprobench

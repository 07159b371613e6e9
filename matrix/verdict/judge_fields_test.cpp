// What a verdict takes over from the plan and from each attempt, field by field.
#include "ci/catch.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

using sample::candidate;
using sample::threshold;
constexpr auto kNoMore = Bound::Kind::max;

const std::vector<CellThreshold> kEqualBits = {threshold("numerics.repeat_mismatches", kNoMore, 0, false)};

TEST_CASE("a run's verdict says whose it is", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kEqualBits);
  run.info.command_line = {"reprobench", "run"};
  run.seal = RunSeal{"plan", "journal"};
  run.plan.request.selected_by = {"--stack stack-b"};
  run.plan.declared = {{"stack-a", {{"torch", "2.8.0"}}}, {"stack-b", {{"torch", "2.9.0"}}}};
  const Injection fault{"hang", 3, "", 0};
  run.plan.cells[1].cell.injections = {{1, fault}};
  const RunVerdict verdict = judge(run);
  CHECK(verdict.info.run_id == "r-sample");
  CHECK(verdict.info.command_line == run.info.command_line);
  CHECK(verdict.seal == run.seal);
  CHECK(verdict.matrix == "sample");
  CHECK(verdict.matrix_file == "matrix/sample.yaml");
  CHECK(verdict.request == run.plan.request);
  CHECK(verdict.planted == std::vector<std::string>{"hang at step 3 in 1 cell"});
  REQUIRE(verdict.environments.size() == 2);
  CHECK(verdict.environments[1].declared.at("torch") == "2.9.0");
  CHECK(verdict.totals.planned == 2);
  CHECK_FALSE(verdict.sentence.empty());
}

TEST_CASE("a cell's verdict says what was planned, of a cell that was skipped or forgotten too", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kEqualBits);
  PlannedCell& planned = run.plan.cells[1];
  planned.cell.required = true;
  planned.notes = {"a note"};
  const auto whole = [&](const CellVerdict& cell) {
    CHECK(cell.cell_id == sample::kCandidateId);
    CHECK(cell.slug == "suite-mlp-stack-b");
    CHECK(cell.coordinates == planned.cell.coordinates);
    CHECK(cell.required);
    CHECK(cell.reference_cell_id == sample::kReferenceId);
    CHECK(cell.notes == planned.notes);
    CHECK(cell.reproduce == std::string("reprobench run --matrix matrix/sample.yaml --cell ") + sample::kCandidateId);
  };
  whole(candidate(judge(run)));
  CHECK_FALSE(judge(run).cells[0].required);
  CHECK_FALSE(judge(run).cells[0].reference_cell_id);
  SECTION("skipped") {
    planned.skip = Skip{"device-class", "needs a GPU"};
    const CellVerdict cell = candidate(judge(run));
    whole(cell);
    CHECK(cell.outcome == Outcome::skipped);
    CHECK(cell.reason == "device-class");
    CHECK(cell.sentence == "needs a GPU");
    CHECK(cell.attempts.empty());
    CHECK(cell.checks.empty());
  }
  SECTION("forgotten") {
    run.cells.pop_back();
    const CellVerdict cell = candidate(judge(run));
    whole(cell);
    CHECK(cell.outcome == Outcome::unfinished);
    CHECK(cell.reason == "not_started");
    CHECK(cell.sentence == "the run has no record of this cell");
    CHECK(cell.next == "run it again");
  }
}

TEST_CASE("an attempt is told of with or without result and telemetry", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kEqualBits);
  AttemptRecord& crashed = candidate(run).attempts[1];
  crashed.end = AttemptEnd::crash;
  crashed.detail = "SIGSEGV";
  crashed.lead().result.reset();
  candidate(run).attempts[2].telemetry = TelemetrySummary{};
  candidate(run).attempts[2].telemetry->samples = 7;
  const CellVerdict cell = candidate(judge(run));
  REQUIRE(cell.attempts.size() == 3);
  CHECK(cell.attempts[1].chain.empty());
  CHECK(cell.attempts[1].end == AttemptEnd::crash);
  CHECK_FALSE(cell.attempts[0].telemetry);
  REQUIRE(cell.attempts[2].telemetry);
  CHECK(cell.attempts[2].telemetry->samples == 7);
  CHECK(cell.sentence == "repeat 1: SIGSEGV");
  REQUIRE(cell.checks.size() == 1);
  CHECK(cell.checks[0].metric == "numerics.repeat_mismatches");
  CHECK(cell.checks[0].reason == "incomplete_repeats");
  CHECK(cell.checks[0].sentence == "repeat 1: SIGSEGV");
}

TEST_CASE("segments follow one another: their times add up to that of the whole training", "[verdict]") {
  const auto took = [](std::vector<std::optional<std::int64_t>> durations_ns) {
    RunRecord run = sample::run(3, 1.0, {});
    AttemptRecord& attempt = candidate(run).attempts[2];
    const auto with = [](std::optional<std::int64_t> duration_ns) {
      RankRecord rank;
      if (duration_ns) rank.exit = ExitRecord{};
      if (duration_ns) rank.exit->duration_ns = *duration_ns;
      return rank;
    };
    attempt.end = AttemptEnd::crash;  // nothing of it is read
    attempt.ranks[0].exit = with(durations_ns[0]).exit;
    attempt.segments = {{AttemptSegment::stopped, {with(durations_ns[1])}},
                        {AttemptSegment::resumed, {with(durations_ns[2]), with(1'000)}}};
    return candidate(judge(run)).attempts[2].duration_ns;
  };
  CHECK(took({100, 20, 3}) == 123);
  CHECK(took({100, std::nullopt, 3}) == 103);
  CHECK(took({100, 20, std::nullopt}) == 120);
  CHECK_FALSE(took({std::nullopt, 20, 3}));
}

TEST_CASE("what every repeat of a probe measured stands in its cell", "[verdict]") {
  RunRecord run = sample::run(2, 1.0, kEqualBits);
  for (AttemptRecord& attempt : candidate(run).attempts) {
    for (const char* operation : {"triad", "copy"}) {
      ProbeMeasurement measurement;
      measurement.operation = operation;
      attempt.lead().result->measurements.push_back(measurement);
    }
  }
  const CellVerdict cell = candidate(judge(run));
  REQUIRE(cell.measurements.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(cell.measurements[i].repeat == static_cast<int>(i / 2));
    CHECK(cell.measurements[i].measurement.operation == (i % 2 == 0 ? "triad" : "copy"));
  }
  CHECK(judge(run).cells[0].measurements.empty());
}

TEST_CASE("what one repeat said of a user's file is told, whichever repeats are missing", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kEqualBits);
  WorkloadRequest& workload = run.plan.cells[1].cell.request.workload;
  workload.data_sha256 = "1f";
  workload.data_file = "/my.json";
  auto& attempts = candidate(run).attempts;
  attempts[2].lead().result->data = DataUse{3, 3, 0};
  attempts[1].lead().result.reset();
  attempts[1].end = AttemptEnd::crash;
  attempts.erase(attempts.begin());
  CHECK(candidate(judge(run)).notes ==
        std::vector<std::string>{"data: /my.json, SHA-256 1f: of 3 records 3 are samples"});
}

TEST_CASE("other library code than the reference's is a note of the cell, and no failure", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kEqualBits);
  const auto computed_by = [&](const char* cell_id, const char* code) {
    for (CellRecord& record : run.cells) {
      if (record.cell_id != cell_id) continue;
      for (AttemptRecord& attempt : record.attempts) {
        attempt.lead().result->implementations.emplace();
        attempt.lead().result->implementations->operations = {{"aten::mm", "(8,4)", "float32", code}};
      }
    }
  };
  CHECK(candidate(judge(run)).notes.empty());
  computed_by(sample::kCandidateId, "mkl SGEMM for AVX2");
  CHECK(candidate(judge(run)).notes ==
        std::vector<std::string>{"library code: the expected side has no record of the library code that computed it"});
  computed_by(sample::kReferenceId, "aten AVX512");
  const CellVerdict other = candidate(judge(run));
  CHECK(other.notes == std::vector<std::string>{
                           "other library code than the reference's computed 1 operation: aten::mm (8,4) float32: "
                           "`mkl SGEMM for AVX2` against `aten AVX512`"});
  CHECK(other.outcome == Outcome::passed);
  computed_by(sample::kReferenceId, "mkl SGEMM for AVX2");
  CHECK(candidate(judge(run)).notes.empty());
}

TEST_CASE("a fault is planted in the cells that run", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, {});
  const Injection fault{"hang", 3, "", 0};
  for (PlannedCell& planned : run.plan.cells) planned.cell.injections = {{1, fault}};
  CHECK(planted_faults(run.plan) == std::vector<std::string>{"hang at step 3 in 2 cells"});
  run.plan.cells[0].skip = Skip{"device-class", "no GPU"};
  CHECK(planted_faults(run.plan) == std::vector<std::string>{"hang at step 3 in 1 cell"});
  run.plan.cells[1].skip = run.plan.cells[0].skip;
  CHECK(planted_faults(run.plan) == std::vector<std::string>{"hang at step 3 in 0 cells"});
}

}  // namespace
}  // namespace reprobench

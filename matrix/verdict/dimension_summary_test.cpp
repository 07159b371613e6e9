#include "matrix/verdict/dimension_summary.hpp"

#include "ci/catch.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using sample::candidate;
using sample::threshold;

DimensionSummary summary_of(const RunRecord& run, Dimension dimension) {
  return judge(run).dimensions.at(static_cast<std::size_t>(dimension));
}

const std::vector<CellThreshold> kBitChecks = {
    threshold("numerics.repeat_mismatches", Bound::Kind::max, 0, false),
    threshold("numerics.reference_mismatches", Bound::Kind::max, 0, true, Gate::record_only)};

TEST_CASE("equal bits are said of every repeat of both sides", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kBitChecks);
  CHECK_THAT(summary_of(run, Dimension::numerics).sentence,
             StartsWith("stack-b: bits equal to stack-a in 1 of 1 cell; checks: 1 passed"));
  SECTION("a repeat that differs") {
    candidate(run).attempts[2].lead().result->chain = std::string(32, 'f');
    CHECK_THAT(summary_of(run, Dimension::numerics).sentence,
               StartsWith("stack-b: bits equal to stack-a in 0 of 1 cell, other bits in 1"));
  }
  SECTION("a repeat of the reference that differs") {
    run.cells[0].attempts[1].lead().result->chain = std::string(32, 'f');
    CHECK_THAT(summary_of(run, Dimension::numerics).sentence,
               StartsWith("stack-b: bits equal to stack-a in 0 of 1 cell, other bits in 1"));
  }
  SECTION("a crashed cell") {
    candidate(run).attempts[1].end = AttemptEnd::crash;
    CHECK_THAT(summary_of(run, Dimension::numerics).sentence, Contains("in 0 of 1 cell; 1 could not be compared"));
  }
  SECTION("another workload") {
    for (AttemptRecord& attempt : candidate(run).attempts)
      attempt.lead().result->workload_digest = std::string(32, 'd');
    CHECK_THAT(summary_of(run, Dimension::numerics).sentence, Contains("in 0 of 1 cell; 1 could not be compared"));
  }
  SECTION("a loss that is no number") {
    for (AttemptRecord& attempt : candidate(run).attempts) attempt.lead().trace->steps[3].loss = "nan";
    CHECK_THAT(summary_of(run, Dimension::numerics).sentence,
               StartsWith("stack-b: bits equal to stack-a in 0 of 1 cell, other bits in 1"));
    CHECK(summary_of(run, Dimension::numerics).word == "failed");
  }
}

TEST_CASE("other bits are placed", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kBitChecks);
  for (int i = 0; i < 3; ++i) candidate(run).attempts[static_cast<std::size_t>(i)] = sample::attempt(i, 3e5, "other");
  CHECK_THAT(summary_of(run, Dimension::numerics).sentence,
             Contains("other bits in 1; first at step 1 in `fc1.weight` (parameter) of suite-mlp-stack-b"));
  CHECK_THAT(summary_of(run, Dimension::numerics).sentence, Contains("1 over the bound and only recorded"));
  CHECK(summary_of(run, Dimension::numerics).word == "passed");
}

TEST_CASE("speed and memory are the worst ratio with its interval, whichever way better lies", "[verdict]") {
  const auto more_is_better = GENERATE(false, true);
  const char* metric = more_is_better ? "throughput.samples" : "throughput.step_time";
  RunRecord run = sample::run(7, 1.25, {threshold(metric, Bound::Kind::max_regression, 0.05, true)});
  PlannedCell faster = run.plan.cells[1];
  faster.cell.request.cell_id = "cccccccccccc";
  faster.cell.slug = "faster";
  run.plan.cells.push_back(faster);
  run.cells.push_back({"cccccccccccc", run.cells[0].attempts});
  const DimensionSummary speed = summary_of(run, Dimension::throughput);
  CHECK(speed.word == "failed");
  CHECK_THAT(speed.sentence, Contains(more_is_better ? "samples x0.800" : "step_time x1.250") &&
                                 Contains("at worst of 2, suite-mlp-stack-b; checks: 1 failed, 1 passed"));
  CHECK(summary_of(run, Dimension::memory).word == "not_checked");
}

TEST_CASE("the line is about the required stack, the word about every check", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, {threshold("memory.peak_rss", Bound::Kind::max_regression, 0.1, true)});
  PlannedCell old = run.plan.cells[1];
  run.plan.cells[1].cell.required = true;
  old.cell.request.cell_id = "cccccccccccc";
  old.cell.coordinates["stack"] = "stack-old";
  run.plan.cells.push_back(old);
  run.cells.push_back({"cccccccccccc", run.cells[1].attempts});
  for (AttemptRecord& attempt : run.cells[2].attempts) attempt.lead().result->peak_rss_bytes *= 2;
  const DimensionSummary memory = summary_of(run, Dimension::memory);
  CHECK(memory.word == "failed");
  CHECK_THAT(memory.sentence,
             StartsWith("stack-b against stack-a: peak_rss x1.000, suite-mlp-stack-b; checks: 1 failed"));
}

TEST_CASE("up to two candidates are named, more are counted", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kBitChecks);
  const auto add = [&](const char* id, const char* stack) {
    PlannedCell another = run.plan.cells[1];
    another.cell.request.cell_id = id;
    another.cell.coordinates["stack"] = stack;
    run.plan.cells.push_back(another);
    run.cells.push_back({id, run.cells[1].attempts});
  };
  add("cccccccccccc", "stack-c");
  CHECK_THAT(summary_of(run, Dimension::numerics).sentence, StartsWith("stack-b, stack-c: bits equal to stack-a in 2"));
  add("dddddddddddd", "stack-d");
  CHECK_THAT(summary_of(run, Dimension::numerics).sentence, StartsWith("3 candidates: bits equal to stack-a in 3"));
}

}  // namespace
}  // namespace reprobench

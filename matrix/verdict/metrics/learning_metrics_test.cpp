// What a run's loss comes to, against values by hand, and what of a cell's seeds.
#include "matrix/verdict/metrics/learning_metrics.hpp"

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

AttemptRecord with_curve(const std::vector<double>& losses, const std::string& seed = "1") {
  AttemptRecord attempt = sample::attempt(3, 1000, "seed " + seed, static_cast<int>(losses.size()));
  for (std::size_t i = 0; i < losses.size(); ++i) attempt.lead().trace->steps[i].loss = exact_float(losses[i]);
  attempt.lead().result->knobs_resolved["seed"] = seed;
  attempt.lead().result->workload_digest = "workload of seed " + seed;
  attempt.nonce = "nonce of seed " + seed;
  return attempt;
}

// Ten steps at the first value, ten at the second.
std::vector<double> two_levels(double first, double last) {
  std::vector<double> losses(10, first);
  losses.resize(20, last);
  return losses;
}

CellEvidence cell_of(std::vector<AttemptRecord> attempts) { return {"cell", "cpu", "", std::move(attempts)}; }

TEST_CASE("an end is a tenth of the steps and at least five, and a run has two that do not meet", "[verdict]") {
  CHECK(end_steps(400) == 40);
  CHECK(end_steps(59) == 5);
  CHECK(end_steps(60) == 6);
  CHECK(end_steps(10) == 5);
  CHECK_FALSE(end_steps(9));
  CHECK_FALSE(end_steps(0));
}

TEST_CASE("the end loss is the mean of the last steps and of no other", "[verdict]") {
  std::vector<double> losses(20, 100.0);
  for (int i = 0; i < 5; ++i) losses[static_cast<std::size_t>(15 + i)] = 1.0 + i;
  const Measurement end = end_loss(with_curve(losses), {});
  CHECK(*end.value == Approx(3.0));
  CHECK(end.finding == "mean of the last 5 of 20 steps, of the first 5: 100");
}

TEST_CASE("of several ranks the one with the largest end loss counts, and the one that fell least", "[verdict]") {
  AttemptRecord attempt = with_curve(two_levels(4, 2));
  attempt.ranks.push_back(with_curve(two_levels(4, 3)).lead());
  attempt.ranks.push_back(with_curve(two_levels(4, 1)).lead());
  CHECK(*end_loss(attempt, {}).value == Approx(3.0));
  CHECK(*loss_fall_rel(attempt, {}).value == Approx(0.25));
}

TEST_CASE("of ranks that end alike the first is told of", "[verdict]") {
  AttemptRecord attempt = with_curve(two_levels(4, 2));
  attempt.ranks.push_back(with_curve(two_levels(8, 2)).lead());
  CHECK(end_loss(attempt, {}).finding == "mean of the last 5 of 20 steps, of the first 5: 4");
  attempt.ranks[1] = with_curve(two_levels(8, 4)).lead();  // as far, from twice as high
  CHECK(loss_fall_rel(attempt, {}).finding == "4 in the first 5 steps, 2 in the last");
  std::swap(attempt.ranks[0], attempt.ranks[1]);
  CHECK(loss_fall_rel(attempt, {}).finding == "8 in the first 5 steps, 4 in the last");
}

TEST_CASE("a loss falls by the share of its beginning that is gone at the end, and rises below zero", "[verdict]") {
  const auto fall = [](double first, double last) { return loss_fall_rel(with_curve(two_levels(first, last)), {}); };
  CHECK(*fall(4, 1).value == Approx(0.75));
  CHECK(fall(4, 1).finding == "4 in the first 5 steps, 1 in the last");
  CHECK(*fall(2, 2).value == Approx(0.0).margin(1e-12));
  CHECK(*fall(2, 3).value == Approx(-0.5));
  CHECK(fall(0, -1).missing == "repeat 3 begins at a loss of 0, of which there is no share");
  CHECK(fall(-2, -3).missing == "repeat 3 begins at a loss of -2, of which there is no share");
}

TEST_CASE("how far weights came is what all ranks say, and nothing where one says nothing or another number",
          "[verdict]") {
  AttemptRecord attempt = with_curve(two_levels(4, 2));
  CHECK(weight_change_rel(attempt, {}).missing ==
        "repeat 3 did not measure how far its weights came from their initial values");
  attempt.lead().result->weight_change_rel = 0.125;
  CHECK(*weight_change_rel(attempt, {}).value == 0.125);
  attempt.ranks.push_back(attempt.lead());
  CHECK(*weight_change_rel(attempt, {}).value == 0.125);
  attempt.ranks[1].result->weight_change_rel = 0.0625;
  CHECK(weight_change_rel(attempt, {}).missing == "repeat 3 has ranks whose weights came differently far");
  attempt.ranks[1].result->weight_change_rel.reset();
  CHECK_FALSE(weight_change_rel(attempt, {}).value);
}

TEST_CASE("a run that is too short or lacks a loss has no end", "[verdict]") {
  CHECK(end_loss(with_curve(std::vector<double>(9, 1.0)), {}).missing ==
        "repeat 3 has 9 steps, too few for a beginning and an end");
  AttemptRecord attempt = with_curve(two_levels(4, 2));
  attempt.lead().trace->steps[7].loss = nullptr;
  CHECK(end_loss(attempt, {}).missing == "repeat 3 has no loss at step 8");
  CHECK(loss_fall_rel(attempt, {}).missing == "repeat 3 has no loss at step 8");
}

TEST_CASE("seeds that train the same work or the same bits are alike, and a cell is none of its others", "[verdict]") {
  const AttemptRecord one = with_curve(two_levels(4, 2), "1");
  AttemptRecord two = with_curve(two_levels(4, 2), "2");
  const AttemptRecord three = with_curve(two_levels(4, 2), "3");
  const auto alike = [&] {
    const CellEvidence seeds = cell_of({one, two, three});
    return alike_seeds(cell_of({one}), &seeds);
  };
  CHECK(alike().value == 0);
  CHECK(alike().statement == "none of 2 other seeds trains what seed 1 does");
  two.lead().result->workload_digest = one.lead().result->workload_digest;
  CHECK(alike().value == 1);
  CHECK(alike().statement == "seed 1 trains what these do: 2");
  two = with_curve(two_levels(4, 2), "2");
  two.lead().result->chain = one.lead().result->chain;
  CHECK(alike().value == 1);
}

TEST_CASE("every seed that trains alike is named, and one that no worker told as what it is", "[verdict]") {
  const AttemptRecord one = with_curve(two_levels(4, 2), "1");
  CellEvidence seeds = cell_of({one});
  for (const char* seed : {"2", "3", "4"}) {
    seeds.repeats.push_back(with_curve(two_levels(4, 2), seed));
    if (*seed != '3') seeds.repeats.back().lead().result->chain = one.lead().result->chain;
  }
  const Measurement found = alike_seeds(cell_of({one}), &seeds);
  CHECK(found.value == 2);
  CHECK(found.statement == "seed 1 trains what these do: 2, 4");
  seeds.repeats[1].lead().result->knobs_resolved.erase("seed");
  CHECK(alike_seeds(cell_of({one}), &seeds).statement == "seed 1 trains what these do: ?, 4");
}

TEST_CASE("the spread of seeds is from the least to the largest end loss by their mean", "[verdict]") {
  CellEvidence seeds = cell_of(
      {with_curve(two_levels(4, 2), "1"), with_curve(two_levels(4, 1), "2"), with_curve(two_levels(4, 3), "7")});
  const Measurement spread = seed_spread_rel(seeds, &seeds);
  CHECK(*spread.value == Approx(1.0));
  CHECK(spread.statement == "3 seeds end from 1 (seed 2) to 3 (seed 7), 1 of their mean");
  const auto of_level = [](double loss) {
    const CellEvidence at = cell_of({with_curve(two_levels(4, loss), "1"), with_curve(two_levels(4, loss), "2")});
    return seed_spread_rel(at, &at);
  };
  CHECK(*of_level(0.01).value == Approx(0.0).margin(1e-12));
  CHECK(of_level(0).missing == "the seeds end at a mean loss of 0, of which there is no share");
  seeds.repeats[1].lead().trace->steps.resize(9);
  CHECK(seed_spread_rel(seeds, &seeds).missing == "seed 2: repeat 3 has 9 steps, too few for a beginning and an end");
}

// Reference and candidate become two seeds of one stack.
RunRecord run_of_seeds() {
  RunRecord run = sample::run(1, 1,
                              {sample::threshold("numerics.alike_seeds", Bound::Kind::max, 0, false),
                               sample::threshold("numerics.seed_spread_rel", Bound::Kind::max, 0.5, false)});
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string seed = std::to_string(i + 1);
    Cell& cell = run.plan.cells[i].cell;
    cell.coordinates["stack"] = "stack-a";
    cell.coordinates["seed"] = seed;
    cell.request.knobs["seed"] = seed;
    run.cells[i].attempts[0] = with_curve(two_levels(4, 2 + 0.5 * static_cast<double>(i)), seed);
    run.cells[i].attempts[0].repeat = 0;
  }
  return run;
}

TEST_CASE("cells that differ in the seed alone are held beside each other", "[verdict]") {
  const auto verdict = judge(run_of_seeds());
  const CellVerdict& cell = sample::candidate(verdict);
  REQUIRE(cell.checks.size() == 2);
  CHECK(cell.checks[0].status == CheckStatus::passed);
  CHECK(cell.checks[0].sentence == "none of 1 other seeds trains what seed 2 does");
  CHECK(cell.checks[1].sentence == "2 seeds end from 2 (seed 1) to 2.5 (seed 2), 0.222 of their mean");
  CHECK(cell.outcome == Outcome::passed);
}

TEST_CASE("a seed that changes nothing fails both cells", "[verdict]") {
  RunRecord run = run_of_seeds();
  for (CellRecord& cell : run.cells) cell.attempts[0].lead().result->workload_digest = "one workload";
  CHECK(sample::candidate(judge(run)).outcome == Outcome::failed);
}

TEST_CASE("a cell that differs in more than the seed, or is not run, is no other seed", "[verdict]") {
  RunRecord run = run_of_seeds();
  run.plan.cells[0].cell.request.knobs["threads"] = "2";
  CHECK(sample::candidate(judge(run)).checks.empty());
  run = run_of_seeds();
  run.plan.cells[0].cell.coordinates["stack"] = "stack-b";
  CHECK(sample::candidate(judge(run)).checks.empty());
  run = run_of_seeds();
  run.plan.cells[0].cell.request.workload.data_sha256 = "a";
  CHECK(sample::candidate(judge(run)).checks.empty());
  run = run_of_seeds();
  run.plan.cells[0].skip = Skip{"deselected", "not asked for"};
  CHECK(sample::candidate(judge(run)).checks.empty());
}

TEST_CASE("where another seed has no result nothing is said of the seeds", "[verdict]") {
  RunRecord run = run_of_seeds();
  run.plan.cells[0].skip = Skip{"host-memory", "does not fit"};
  const CellVerdict beside_skipped = sample::candidate(judge(run));
  CHECK(beside_skipped.outcome == Outcome::inconclusive);
  CHECK(beside_skipped.checks.at(0).reason == "no_reference");
  CHECK(beside_skipped.checks.at(0).sentence == "suite-mlp-stack-a was skipped");
  run = run_of_seeds();
  run.cells[0].attempts[0].end = AttemptEnd::crash;
  const CellVerdict cell = sample::candidate(judge(run));
  CHECK(cell.outcome == Outcome::inconclusive);
  CHECK(cell.checks.at(0).reason == "reference_failed");
  CHECK(cell.checks.at(1).reason == "reference_failed");
}

}  // namespace
}  // namespace reprobench

// Layouts of one training, with step times by hand.
#include "matrix/verdict/scaling_metrics.hpp"

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/verdict/check.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

// Each of `step_times_ns` is a repeat, on `ranks` ranks of which the last is the slowest by a quarter.
CellEvidence on_ranks(std::size_t ranks, const std::vector<std::int64_t>& step_times_ns) {
  CellEvidence cell{fmt::format("on-{}", ranks), "cpu", "", {}};
  for (const std::int64_t time_ns : step_times_ns) {
    AttemptRecord attempt = sample::attempt(static_cast<int>(cell.repeats.size()), 1);
    attempt.ranks.resize(ranks, attempt.ranks.front());
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (StepRecord& step : attempt.ranks[rank].trace->steps) {
        step.step_time_ns = rank + 1 == ranks ? time_ns : time_ns * 4 / 5;
        step.phases = {0, step.step_time_ns / 2, step.step_time_ns / 4, 0, step.step_time_ns / 4};
      }
    }
    cell.repeats.push_back(attempt);
  }
  return cell;
}

CheckResult efficiency(const CellEvidence& cell, const CellEvidence& alone, double least) {
  return evaluate(sample::threshold("throughput.scaling_efficiency", Bound::Kind::min, least, false), cell,
                  {&alone, {}, ""});
}

TEST_CASE("efficiency is one rank's time by that of the ranks' time together, slowest rank and medians", "[verdict]") {
  const CellEvidence alone = on_ranks(1, {8'000'000, 8'000'000, 99'000'000});
  const CellEvidence four = on_ranks(4, {1'000'000, 2'500'000, 9'000'000});
  const Measurement measurement = scaling_efficiency(four, &alone);
  CHECK(*measurement.value == Approx(0.8));
  CHECK(measurement.statement == "4 ranks take 2.500 ms for a step, one rank 8.000 ms: x3.20 as fast, 80.0 % of x4");
  CHECK(efficiency(four, alone, 0.8).status == CheckStatus::passed);
  const CheckResult low = efficiency(four, alone, 0.81);
  CHECK(low.status == CheckStatus::failed);
  CHECK(low.sentence == measurement.statement);
  CHECK(low.dimension == Dimension::throughput);
}

TEST_CASE("ranks that are slower than one rank alone have less than an Nth", "[verdict]") {
  const CellEvidence alone = on_ranks(1, {1'000'000});
  CHECK(*scaling_efficiency(on_ranks(2, {4'000'000}), &alone).value == Approx(0.125));
}

TEST_CASE("without a step that counts there is no efficiency, and the side that lacks it is named", "[verdict]") {
  const CellEvidence alone = on_ranks(1, {1'000'000});
  const CellEvidence two = on_ranks(2, {1'000'000});
  CellEvidence without = two;
  for (RankRecord& rank : without.repeats[0].ranks) rank.trace->steps.clear();
  CHECK(scaling_efficiency(without, &alone).missing == "on-2 has no step that counts");
  without = alone;
  without.repeats[0].lead().trace->steps.clear();
  CHECK(scaling_efficiency(two, &without).missing == "on-1 has no step that counts");
  CHECK(efficiency(two, without, 0.1).status == CheckStatus::inconclusive);
  for (const std::size_t lacking : {0, 1, 2}) {  // whatever the other repeats have
    without = on_ranks(1, {1'000'000, 1'000'000, 1'000'000});
    without.repeats[lacking].lead().trace->steps.clear();
    CHECK(scaling_efficiency(two, &without).missing == "on-1 has no step that counts");
  }
}

TEST_CASE("the speed of one rank on another host says nothing", "[verdict]") {
  CellEvidence alone = on_ranks(1, {8'000'000});
  alone.host = "elsewhere";
  CHECK(efficiency(on_ranks(2, {4'000'000}), alone, 0.1).reason == "not_comparable");
}

TEST_CASE("communication is a share of the steps' time, and none where there is none", "[verdict]") {
  CellEvidence cell = on_ranks(2, {1'000'000});
  CHECK(*communication_share(cell.repeats[0]) == 0.25);
  for (RankRecord& rank : cell.repeats[0].ranks) rank.trace->steps.back().phases.comm_ns = 500'000;
  CHECK(*communication_share(cell.repeats[0]) == Approx((9 * 250'000 + 500'000) / 10e6));  // ten of twenty steps count
  for (RankRecord& rank : cell.repeats[0].ranks) {
    for (StepRecord& step : rank.trace->steps) step.phases.comm_ns = 0;
  }
  CHECK_FALSE(communication_share(cell.repeats[0]));
  cell.repeats[0].lead().trace->steps.back().phases.comm_ns = 1;
  cell.repeats[0].ranks.pop_back();
  CHECK(communication_share(cell.repeats[0]));
  cell.repeats[0].lead().trace->steps.back().phases.comm_ns = 0;
  const CheckResult check = evaluate(sample::threshold("comm.step_share", Bound::Kind::max, 0.5, false), cell, {});
  CHECK(check.status == CheckStatus::inconclusive);
  CHECK(check.dimension == Dimension::communication);
}

}  // namespace
}  // namespace reprobench

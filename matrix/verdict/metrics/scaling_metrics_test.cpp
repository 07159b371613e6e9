// Layouts of one training, with step times by hand.
#include "matrix/verdict/metrics/scaling_metrics.hpp"

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

CheckResult checked(const std::string& metric, const CellEvidence& cell, const CellEvidence& alone, double least) {
  return evaluate(sample::threshold("throughput." + metric + "_scaling_efficiency", Bound::Kind::min, least, false),
                  cell, {&alone, {}, ""});
}

// Seven repeats of about that time: the median is `time_ns`, the others within 3 % of it.
std::vector<std::int64_t> about(std::int64_t time_ns) {
  std::vector<std::int64_t> times_ns;
  for (const int percent : {100, 97, 103, 99, 101, 98, 102}) times_ns.push_back(time_ns * percent / 100);
  return times_ns;
}
const std::vector<std::int64_t> kEight(7, 8'000'000);

TEST_CASE("strong scaling is one rank's time by that of N ranks and N, by the slowest rank and pair by pair",
          "[verdict]") {
  const CellEvidence alone = on_ranks(1, kEight);
  const CellEvidence four = on_ranks(4, std::vector<std::int64_t>(7, 2'500'000));
  const CheckResult check = checked("strong", four, alone, 0.8);
  CHECK(*check.measured == Approx(0.8));
  CHECK(check.status == CheckStatus::passed);
  CHECK(check.sentence ==
        "strong scaling: 4 ranks take 2.500 ms for a step, one rank 8.000 ms for all of it: 80.0 % [80.0, 80.0] of the "
        "ideal");
  CHECK(check.samples == 7);
  CHECK(check.dimension == Dimension::throughput);
  CHECK_FALSE(check.ratio);  // no ratio to a reference stack
  const CheckResult low = checked("strong", four, alone, 0.81);
  CHECK(low.status == CheckStatus::failed);
  CHECK(low.reason == "over_bound");
  CHECK(*checked("strong", on_ranks(2, std::vector<std::int64_t>(7, 32'000'000)), alone, 0.5).measured ==
        Approx(0.125));  // slower than one
}

TEST_CASE("weak scaling is the time of one rank alone by that of ranks that each do as much", "[verdict]") {
  const CellEvidence alone = on_ranks(1, kEight);
  const CellEvidence four = on_ranks(4, std::vector<std::int64_t>(7, 10'000'000));
  const CheckResult check = checked("weak", four, alone, 0.8);
  CHECK(*check.measured == Approx(0.8));
  CHECK(check.status == CheckStatus::passed);
  CHECK(check.sentence ==
        "weak scaling: 4 ranks take 10.000 ms for a step, one rank 8.000 ms for one rank's share: 80.0 % [80.0, 80.0] "
        "of the ideal");
  CHECK(checked("weak", four, alone, 0.81).status == CheckStatus::failed);
}

TEST_CASE("an efficiency whose interval reaches over its bound is left to noise, not passed", "[verdict]") {
  const CellEvidence alone = on_ranks(1, kEight);
  const CellEvidence two = on_ranks(2, about(10'000'000));
  CHECK(checked("weak", two, alone, 0.75).status == CheckStatus::passed);
  CHECK(checked("weak", two, alone, 0.85).status == CheckStatus::failed);
  for (const double within : {0.78, 0.79, 0.81, 0.82}) {  // the interval is from 8 / 10.3 to 8 / 9.7
    const CheckResult check = checked("weak", two, alone, within);
    CHECK(check.status == CheckStatus::inconclusive);
    CHECK(check.reason == "noise");
    CHECK(check.sentence.find("80.0 % [77.7, 82.5] of the ideal; the interval of 7 pairs reaches over the bound") !=
          std::string::npos);
  }
}

TEST_CASE("an efficiency fails a band where all of its interval lies out of it on one side", "[verdict]") {
  const CellEvidence alone = on_ranks(1, kEight);
  const CellEvidence two = on_ranks(2, about(10'000'000));  // 0.777 to 0.825
  const auto status = [&](double low, double high) {
    CellThreshold band = sample::threshold("throughput.weak_scaling_efficiency", Bound::Kind::band, high, false);
    band.bound.low = low;
    return evaluate(band, two, {&alone, {}, ""}).status;
  };
  CHECK(status(0.7, 0.9) == CheckStatus::passed);
  CHECK(status(0.5, 0.7) == CheckStatus::failed);
  CHECK(status(0.9, 1.0) == CheckStatus::failed);
  CHECK(status(0.805, 0.82) == CheckStatus::inconclusive);  // the median lies below it, the interval on both sides
  CHECK(status(0.5, 0.78) == CheckStatus::inconclusive);
  CHECK(status(0.79, 0.9) == CheckStatus::inconclusive);  // the median lies in it, some of the interval below
}

TEST_CASE("an efficiency keeps or breaks an upper bound by all of its interval too", "[verdict]") {
  const CellEvidence alone = on_ranks(1, kEight);
  const CellEvidence two = on_ranks(2, about(10'000'000));  // 0.777 to 0.825
  const auto check = [&](double most) {
    return evaluate(sample::threshold("throughput.weak_scaling_efficiency", Bound::Kind::max, most, false), two,
                    {&alone, {}, ""});
  };
  CHECK(check(0.9).status == CheckStatus::passed);
  CHECK(check(0.81).status == CheckStatus::inconclusive);
  CHECK(check(0.7).status == CheckStatus::failed);
}

TEST_CASE("the noise of an efficiency is relative to it", "[verdict]") {
  const CellEvidence alone = on_ranks(1, kEight);
  const auto noise_rel = [&](std::int64_t time_ns) {
    return checked("weak", on_ranks(2, about(time_ns)), alone, 0.01).noise_rel.value();
  };
  CHECK(noise_rel(10'000'000) == Approx(noise_rel(80'000'000)).epsilon(1e-3));
  CHECK(noise_rel(10'000'000) > 0.01);
}

TEST_CASE("an efficiency is of pairs: what slows both of a pair down moves nothing", "[verdict]") {
  const std::vector<std::int64_t> drift = {1'000'000, 2'000'000, 3'000'000, 4'000'000, 5'000'000, 6'000'000, 7'000'000};
  const CheckResult check = checked("weak", on_ranks(2, drift), on_ranks(1, drift), 0.99);
  CHECK(check.status == CheckStatus::passed);
  CHECK(*check.measured == Approx(1));
}

TEST_CASE("too few repeats have no interval, and those that one side alone has are no pairs", "[verdict]") {
  const CheckResult few = checked("strong", on_ranks(2, {1'000'000, 1'000'000}), on_ranks(1, kEight), 0.1);
  CHECK(few.status == CheckStatus::inconclusive);
  CHECK(few.reason == "too_few_samples");
  CHECK(few.samples == 2);
  CellEvidence further = on_ranks(2, std::vector<std::int64_t>(14, 1'000'000));
  for (std::size_t repeat = 0; repeat < 7; ++repeat) further.repeats[repeat] = on_ranks(2, {8'000'000}).repeats[0];
  const CheckResult check = checked("weak", further, on_ranks(1, kEight), 0.99);
  CHECK(check.samples == 7);
  CHECK(*check.measured == Approx(1));
}

TEST_CASE("ranks that do less or more than the one that is alone have no weak scaling", "[verdict]") {
  const CellEvidence alone = on_ranks(1, kEight);
  const auto missing = [&](auto change) {
    CellEvidence two = on_ranks(2, kEight);
    change(two.repeats[4].ranks[1].trace->steps);
    const CheckResult check = checked("weak", two, alone, 0.1);
    CHECK(check.status == CheckStatus::inconclusive);
    CHECK(check.reason == "missing_metric");
    return check.sentence;
  };
  CHECK(missing([](auto& steps) { steps[2].samples = 16; }) ==
        "rank 1 of repeat 4 of on-2 trained 16 samples in step 3, on-1 32");
  CHECK(missing([](auto& steps) { steps.pop_back(); }) == "rank 1 of repeat 4 of on-2 did 19 steps, on-1 20");
  CHECK(missing([](auto& steps) { steps.push_back(steps.back()); }) ==
        "rank 1 of repeat 4 of on-2 did 21 steps, on-1 20");
  CellEvidence uneven = alone;
  uneven.repeats[6].lead().trace->steps[0].samples = 64;
  CHECK(checked("weak", on_ranks(2, kEight), uneven, 0.1).sentence ==
        "rank 0 of repeat 6 of on-1 trained 64 samples in step 1, on-1 32");
}

TEST_CASE("without a step that counts there is no efficiency, and the side that lacks it is named", "[verdict]") {
  const CellEvidence alone = on_ranks(1, kEight);
  const CellEvidence two = on_ranks(2, kEight);
  CellEvidence without = two;
  for (RankRecord& rank : without.repeats[3].ranks) rank.trace->steps.clear();
  CHECK(checked("strong", without, alone, 0.1).sentence == "on-2 has no step that counts");
  CHECK(checked("weak", without, alone, 0.1).sentence == "rank 0 of repeat 3 of on-2 did 0 steps, on-1 20");
  for (const std::size_t lacking : {0, 3, 6}) {  // whatever the other repeats have
    without = alone;
    without.repeats[lacking].lead().trace->steps.clear();
    CHECK(checked("strong", two, without, 0.1).sentence == "on-1 has no step that counts");
    CHECK(checked("strong", two, without, 0.1).status == CheckStatus::inconclusive);
    CHECK(checked("weak", two, without, 0.1).status == CheckStatus::inconclusive);
  }
  CellEvidence nobody = two;
  for (AttemptRecord& attempt : nobody.repeats) {
    for (RankRecord& rank : attempt.ranks) rank.trace->steps.clear();
  }
  without = alone;
  for (AttemptRecord& attempt : without.repeats) attempt.lead().trace->steps.clear();
  CHECK(checked("weak", nobody, without, 0.1).sentence == "on-2 has no step that counts");
}

TEST_CASE("the speed of one rank on another host says nothing", "[verdict]") {
  CellEvidence alone = on_ranks(1, kEight);
  alone.host = "elsewhere";
  for (const char* metric : {"strong", "weak"}) {
    CHECK(checked(metric, on_ranks(2, kEight), alone, 0.1).reason == "not_comparable");
  }
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

TEST_CASE("the share of exchanges that the backward pass hides is that of the rank with the least", "[verdict]") {
  CellEvidence cell = on_ranks(2, {1'000'000});
  const auto exchange = [&](std::size_t rank, std::size_t step) -> PhaseTimes& {
    return cell.repeats[0].ranks[rank].trace->steps[step].phases;
  };
  const auto share = [&] { return overlap_share(cell.repeats[0], {}); };
  CHECK(share().missing == "repeat 0 exchanged its gradients after the backward pass (overlap=off)");
  for (RankRecord& rank : cell.repeats[0].ranks) {
    rank.result->knobs_resolved["overlap"] = "on";
    for (StepRecord& step : rank.trace->steps) {
      step.phases.exchange_ns = 100'000;
      step.phases.exchange_hidden_ns = 25'000;
    }
  }
  exchange(0, 0).exchange_hidden_ns = 0;  // a step of the warm-up
  CHECK(share().value == 0.25);
  exchange(1, 19).exchange_hidden_ns = 75'000;
  CHECK(share().value == 0.25);
  exchange(0, 19).exchange_hidden_ns = 100'000;  // all of it; ten of twenty steps count
  CHECK(*share().value == Approx((9 * 25'000.0 + 75'000) / 1e6));
  exchange(0, 19).exchange_hidden_ns = 100'001;
  CHECK(share().missing == "repeat 0 has no time of an exchange in step 20 of rank 0");
  exchange(0, 19).exchange_hidden_ns = 100'000;
  exchange(1, 19).exchange_ns = 0;
  CHECK(share().missing == "repeat 0 has no time of an exchange in step 20 of rank 1");
  exchange(1, 19).exchange_ns.reset();
  CHECK(share().missing == "repeat 0 has no time of an exchange in step 20 of rank 1");
  exchange(1, 19).exchange_ns = 100'000;
  exchange(1, 19).exchange_hidden_ns.reset();
  CHECK(share().missing == "repeat 0 has no time of an exchange in step 20 of rank 1");
  cell.repeats[0].lead().result->knobs_resolved["overlap"] = "off";
  CHECK(share().missing == "repeat 0 exchanged its gradients after the backward pass (overlap=off)");
}

}  // namespace
}  // namespace reprobench

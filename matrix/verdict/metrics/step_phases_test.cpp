// Where a step's time goes, against values by hand.
#include "matrix/verdict/metrics/step_phases.hpp"

#include "ci/catch.hpp"
#include "matrix/verdict/check.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t k_us = 1'000;

AttemptRecord with_phases(int repeat, const PhaseTimes& phases) {
  AttemptRecord attempt = sample::attempt(repeat, 1);
  for (StepRecord& step : attempt.lead().trace->steps) {
    step.phases = phases;
    step.step_time_ns = phases.data_ns + phases.forward_ns + phases.backward_ns + phases.comm_ns + phases.optimizer_ns;
  }
  return attempt;
}

// Seven repeats whose times drift by `drift_us` each, which a pair shares.
CellEvidence cell_of(const std::string& slug, const PhaseTimes& phases, std::int64_t drift_us = 0) {
  CellEvidence cell{slug, "cpu", "", {}};
  for (int repeat = 0; repeat < 7; ++repeat) {
    PhaseTimes drifted = phases;
    drifted.forward_ns += repeat * drift_us * k_us;
    cell.repeats.push_back(with_phases(repeat, drifted));
  }
  return cell;
}

CheckResult step_time(const CellEvidence& cell, const CellEvidence& reference, double limit = 0.1) {
  return evaluate(sample::threshold("throughput.step_time", Bound::Kind::max_regression, limit, true), cell,
                  {&reference, {}, ""});
}

TEST_CASE("a step that is slower says which phases made it so, the largest first", "[verdict]") {
  const CellEvidence reference = cell_of("reference", {100 * k_us, 300 * k_us, 400 * k_us, 200 * k_us});
  const CellEvidence slower = cell_of("slower", {100 * k_us, 330 * k_us, 800 * k_us, 200 * k_us});
  const CheckResult check = step_time(slower, reference);
  CHECK(check.status == CheckStatus::failed);
  CHECK(check.sentence ==
        "1.430 ms against 1.000 ms: x1.430 [1.430, 1.430], worse by more than 10 %; by phase: backward +400.0 us "
        "(x2.000 [2.000, 2.000]), forward +30.0 us (x1.100 [1.100, 1.100]); data, optimizer within their noise");
  REQUIRE(check.phases.size() == 4);
  CHECK(check.phases[0].phase == "data");
  CHECK(check.phases[1].phase == "forward");
  CHECK(check.phases[2].phase == "backward");
  CHECK(check.phases[3].phase == "optimizer");
  CHECK(check.phases[2].measured_ns == 800 * k_us);
  CHECK(check.phases[2].reference_ns == 400 * k_us);
  CHECK(check.phases[2].ratio == 2.0);
  CHECK(check.phases[0].ratio == 1.0);
}

TEST_CASE("a step that is faster says so too, with the other sign", "[verdict]") {
  const CellEvidence reference = cell_of("reference", {100 * k_us, 300 * k_us, 400 * k_us, 200 * k_us});
  const CheckResult check =
      step_time(cell_of("faster", {150 * k_us, 300 * k_us, 400 * k_us, 50 * k_us}), reference, 0.05);
  CHECK(check.gain);
  CHECK(
      check.sentence.ends_with("; by phase: optimizer -150.0 us (x0.250 [0.250, 0.250]), data +50.0 us (x1.500 "
                               "[1.500, 1.500]); forward, backward within their noise"));
}

TEST_CASE("a step that is within its bound keeps its phases, and nobody is named for it", "[verdict]") {
  const CellEvidence reference = cell_of("reference", {100 * k_us, 300 * k_us, 400 * k_us, 200 * k_us});
  const CheckResult check = step_time(cell_of("cell", {100 * k_us, 320 * k_us, 400 * k_us, 200 * k_us}), reference);
  CHECK(check.status == CheckStatus::passed);
  CHECK(check.sentence.find("phase") == std::string::npos);
  CHECK(check.phases.size() == 4);
}

TEST_CASE("a phase whose interval holds 1 has not moved, however far its median is", "[verdict]") {
  const CellEvidence reference = cell_of("reference", {100 * k_us, 300 * k_us, 400 * k_us, 200 * k_us});
  CellEvidence cell{"cell", "cpu", "", {}};
  for (int repeat = 0; repeat < 7; ++repeat) {
    const std::int64_t forward_us = repeat < 2 ? 290 : 900;  // two of seven pairs say otherwise
    cell.repeats.push_back(with_phases(repeat, {100 * k_us, forward_us * k_us, 400 * k_us, 200 * k_us}));
  }
  const std::vector<StepPhase> phases = step_phases(cell, &reference);
  CHECK(*phases[1].ratio == Approx(3));
  CHECK(*phases[1].ratio_low < 1);
  CHECK(moved_phases(phases) == "no phase of it alone is beyond its noise");
}

TEST_CASE("phases are compared repeat by repeat, so that what a pair shares drops out", "[verdict]") {
  const CellEvidence reference = cell_of("reference", {100 * k_us, 300 * k_us, 400 * k_us, 200 * k_us}, 50);
  const CellEvidence cell = cell_of("cell", {100 * k_us, 300 * k_us, 400 * k_us, 200 * k_us}, 50);
  const std::vector<StepPhase> phases = step_phases(cell, &reference);
  CHECK(phases[1].measured_ns == 450 * k_us);  // the median of seven
  CHECK(phases[1].ratio_low == 1.0);
  CHECK(phases[1].ratio_high == 1.0);
}

TEST_CASE("too few pairs have times and no ratio, and a bound of its own has no reference", "[verdict]") {
  CellEvidence few = cell_of("few", {100 * k_us, 300 * k_us, 400 * k_us, 200 * k_us});
  few.repeats.resize(5);
  const std::vector<StepPhase> phases = step_phases(few, &few);
  REQUIRE(phases.size() == 4);
  CHECK(phases[3].reference_ns == 200 * k_us);
  CHECK_FALSE(phases[3].ratio);
  const CheckResult alone = evaluate(sample::threshold("throughput.step_time", Bound::Kind::max, 1e9, false), few, {});
  REQUIRE(alone.phases.size() == 4);
  CHECK(alone.phases[3].measured_ns == 200 * k_us);
  CHECK_FALSE(alone.phases[3].reference_ns);
}

TEST_CASE("communication is a phase where ranks have any, even on one side alone", "[verdict]") {
  const CellEvidence reference = cell_of("reference", {100 * k_us, 300 * k_us, 400 * k_us, 200 * k_us});
  const CellEvidence sending = cell_of("sending", {100 * k_us, 300 * k_us, 400 * k_us, 200 * k_us, 50 * k_us});
  const std::vector<StepPhase> phases = step_phases(sending, &reference);
  REQUIRE(phases.size() == 5);
  CHECK(phases[3].phase == "communication");
  CHECK(phases[3].measured_ns == 50 * k_us);
  CHECK_FALSE(phases[3].ratio);
  CHECK(moved_phases(phases) ==
        "by phase: communication +50.0 us; data, forward, backward, optimizer within their noise");
  CHECK(step_phases(reference, &sending).size() == 5);
  const CellEvidence barely = cell_of("barely", {100 * k_us, 300 * k_us, 400 * k_us, 200 * k_us, 1});
  CHECK(step_phases(barely, &reference).size() == 5);
  CHECK(step_phases(reference, &barely).size() == 5);
}

TEST_CASE("phases that moved as far stand in the order of a step, and a step that nobody timed has none", "[verdict]") {
  const CellEvidence reference = cell_of("reference", {100 * k_us, 300 * k_us, 400 * k_us, 200 * k_us});
  const CellEvidence cell = cell_of("cell", {150 * k_us, 250 * k_us, 450 * k_us, 150 * k_us});
  CHECK(moved_phases(step_phases(cell, &reference)) ==
        "by phase: data +50.0 us (x1.500 [1.500, 1.500]), forward -50.0 us (x0.833 [0.833, 0.833]), backward +50.0 us "
        "(x1.125 [1.125, 1.125]), optimizer -50.0 us (x0.750 [0.750, 0.750])");
  for (const std::size_t untimed : {0, 3, 6}) {
    CellEvidence without = cell;
    without.repeats[untimed].lead().trace->steps.clear();
    CHECK(step_phases(without, &reference).empty());
    CHECK(step_phases(cell, &without).empty());
    CHECK(step_phases(without, nullptr).empty());
  }
}

TEST_CASE("a phase has moved by its interval, and without one by its times", "[verdict]") {
  const auto moved = [](double measured_ns, std::optional<double> low, double high) {
    StepPhase phase{"forward", measured_ns, 5e6, {}, {}, {}};
    if (low) phase.ratio = 1.0;
    if (low) phase.ratio_low = low;
    if (low) phase.ratio_high = high;
    return moved_phases({phase});
  };
  const char* none = "no phase of it alone is beyond its noise";
  CHECK(moved(5e6, {}, 0) == none);
  CHECK(moved(5e6 + 1, {}, 0) == "by phase: forward +0.0 us");
  CHECK(moved(4e6, {}, 0) == "by phase: forward -1.000 ms");
  CHECK(moved(9e6, 1, 1) == none);
  CHECK(moved(9e6, 0.9, 1) == none);
  CHECK(moved(9e6, 1, 1.1) == none);
  CHECK(moved(5e6, 1.01, 1.1) == "by phase: forward +0.0 us (x1.000 [1.010, 1.100])");
  CHECK(moved(5e6, 0.9, 0.99) == "by phase: forward +0.0 us (x1.000 [0.900, 0.990])");
}

TEST_CASE("of several ranks the slowest of each step has its phases counted", "[verdict]") {
  CellEvidence cell = cell_of("cell", {100 * k_us, 300 * k_us, 400 * k_us, 200 * k_us});
  for (AttemptRecord& attempt : cell.repeats) {
    const AttemptRecord other = with_phases(attempt.repeat, {90 * k_us, 290 * k_us, 390 * k_us, 300 * k_us});
    attempt.ranks.push_back(other.ranks.front());
  }
  CHECK(step_phases(cell, nullptr)[3].measured_ns == 300 * k_us);
  CHECK(step_phases(cell, nullptr)[0].measured_ns == 90 * k_us);
}

TEST_CASE("no other metric has phases, and they survive the document", "[verdict]") {
  const auto no_slower = [](const char* metric) {
    return sample::threshold(metric, Bound::Kind::max_regression, 0.1, true);
  };
  const RunRecord run = sample::run(7, 1.5, {no_slower("throughput.step_time"), no_slower("throughput.samples")});
  const RunVerdict verdict = verdict_from_json(to_json(judge(run)));
  const auto& checks = sample::candidate(verdict).checks;
  REQUIRE(checks.size() == 2);
  CHECK(checks[0].phases.size() == 4);
  CHECK(*checks[0].phases[2].ratio == Approx(*checks[0].ratio).epsilon(1e-3));  // every phase is slower by as much
  CHECK(checks[1].phases.empty());
}

}  // namespace
}  // namespace reprobench

#include "matrix/verdict/metrics/stalls.hpp"

#include "ci/catch.hpp"
#include "matrix/verdict/check.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

// Two repeats of 200 steps, of which those in `stalled` take a hundred times as long.
CellEvidence stalling(const std::vector<std::int64_t>& stalled) {
  CellEvidence cell{"cell", "cpu", "", {}};
  for (const int repeat : {0, 1}) {
    cell.repeats.push_back(sample::attempt(repeat, 1000, "same", 200));
    for (StepRecord& step : cell.repeats.back().lead().trace->steps) step.step_time_ns = 1000;
    for (const std::int64_t step : stalled) {
      cell.repeats.back().lead().trace->steps[static_cast<std::size_t>(step - 1)].step_time_ns = 100'000;
    }
  }
  return cell;
}

TEST_CASE("stalls are counted after warm-up, with how long they are and how far apart", "[verdict]") {
  CHECK(stalls_text(stalling({})).empty());
  CHECK(stalls_text(stalling({1, 20})).empty());  // in the warm-up
  const std::string eight = "8 of 360 steps after warm-up took more than 3 times their median, 100 times as a rule";
  CHECK(stalls_text(stalling({50, 100, 150, 200})) == eight + ", mostly 50 steps apart");
  CHECK(stalls_text(stalling({50, 100, 117, 190})) == eight);  // 50, 17 and 73 apart
  CHECK(stalls_text(stalling({50, 100, 150, 190})) == eight + ", mostly 50 steps apart");
  CHECK(stalls_text(stalling({50, 100})) ==
        "4 of 360 steps after warm-up took more than 3 times their median, 100 times as a rule");
}

TEST_CASE("a step of three times the median is no stall yet", "[verdict]") {
  CellEvidence cell = stalling({});
  std::int64_t& time_ns = cell.repeats[1].lead().trace->steps[99].step_time_ns;
  time_ns = 3000;
  CHECK(stalls_text(cell).empty());
  time_ns = 3001;
  CHECK(stalls_text(cell) == "1 of 360 steps after warm-up took more than 3 times their median, 3 times as a rule");
}

TEST_CASE("a repeat without steps stalls nowhere", "[verdict]") {
  CellEvidence cell = stalling({50});
  cell.repeats[1].lead().trace->steps.clear();
  CHECK(stalls_text(cell).starts_with("1 of 180 steps"));
}

TEST_CASE("a mean that fails says which steps it is made of, one that holds does not", "[verdict]") {
  const CellEvidence cell = stalling({50, 100, 150, 200});
  const auto sentence = [&](double limit_ns) {
    const CellThreshold bound = sample::threshold("throughput.mean_step_time", Bound::Kind::max, limit_ns, false);
    return evaluate(bound, cell, {}).sentence;
  };
  CHECK_THAT(sentence(2000), Catch::EndsWith("; " + stalls_text(cell)));
  CHECK_THAT(sentence(5000), !Catch::Contains("steps after warm-up"));
}

}  // namespace
}  // namespace reprobench

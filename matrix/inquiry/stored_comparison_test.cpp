// What is said of two cells of stored runs: of all their repeats, with time and memory beside the bits.
#include "ci/catch.hpp"
#include "matrix/inquiry/cell_ratios.hpp"
#include "matrix/inquiry/scripted_replays.hpp"

namespace reprobench {
namespace {

// A side of a run with three repeats of equal bits.
ComparedSide stored(ScriptedReplays& replays, const std::string& stack, const std::string& run = "r1") {
  ComparedSide side = replays.side(stack, synthetic_request());
  side.label = run + ":" + std::string(12, stack.back());
  StoredCell& cell = side.stored.emplace();
  cell.run_id = run;
  cell.slug = "smoke-mlp-" + stack;
  cell.repeats_due = 3;
  for (int repeat = 0; repeat < 3; ++repeat) {
    cell.repeats.push_back(side.attempt);
    cell.repeats.back().repeat = repeat;
    cell.repeats.back().nonce = fmt::format("{}-{}-{}", run, stack, repeat);
  }
  return side;
}

CellComparison compared(ScriptedReplays& replays, const ComparedSide& measured, const ComparedSide& expected) {
  return compare_cells(measured, expected, {}, replays);
}

TEST_CASE("equal bits are said of all repeats of both cells", "[stored]") {
  ScriptedReplays replays;
  const auto comparison = compared(replays, stored(replays, "stack-b"), stored(replays, "stack-a"));
  CHECK(comparison.word == Match::equal);
  CHECK(comparison.sentence == "equal bits in all that 6 steps digested, in all 3 repeats of both");
  CHECK(comparison.measured_name == "smoke-mlp-stack-b");
  CHECK(comparison.measured == "r1:bbbbbbbbbbbb");
}

TEST_CASE("which library code computed two cells is compared beside their bits, and decides nothing", "[stored]") {
  ScriptedReplays replays;
  ComparedSide measured = stored(replays, "stack-b");
  ComparedSide expected = stored(replays, "stack-a");
  CHECK_FALSE(compared(replays, measured, expected).implementations);
  const auto computed_by = [](ComparedSide& side, const char* code) {
    side.attempt.lead().result->implementations.emplace();
    side.attempt.lead().result->implementations->operations = {{"aten::mm", "(8,4)", "float32", code}};
  };
  computed_by(measured, "mkl SGEMM");
  computed_by(expected, "aten AVX512");
  const CellComparison other = compared(replays, measured, expected);
  CHECK(other.word == Match::equal);
  REQUIRE(other.implementations.value().changed.size() == 1);
  CHECK(other.implementations->changed[0].measured == "mkl SGEMM");
  CHECK(other.implementations->changed[0].expected == "aten AVX512");
  CHECK(to_json(comparison_from_json(to_json(other))) == to_json(other));
}

TEST_CASE("numbers of repeats are said where they differ, runs where there are two", "[stored]") {
  ScriptedReplays replays;
  ComparedSide expected = stored(replays, "stack-a", "r0");
  expected.stored->repeats_due = 1;
  expected.stored->repeats.resize(1);
  const auto comparison = compared(replays, stored(replays, "stack-a"), expected);
  CHECK(comparison.sentence == "equal bits in all that 6 steps digested, in 3 repeats against 1");
  CHECK(comparison.measured_name == "r1:smoke-mlp-stack-a");
  CHECK(comparison.expected_name == "r0:smoke-mlp-stack-a");
}

TEST_CASE("whatever is wrong with a repeat or its numbers, equal steps are not called equal", "[stored]") {
  ScriptedReplays replays;
  SidePair pair{stored(replays, "stack-b"), stored(replays, "stack-a")};
  const bool is_measured = GENERATE(true, false);
  ComparedSide& side = is_measured ? pair.first : pair.second;
  const std::string name = side.stored->slug;
  std::string reason;
  SECTION("one crashed") {
    side.stored->repeats[1].end = AttemptEnd::crash;
    side.stored->repeats[1].detail = "SIGSEGV";
    reason = "of " + name + " 2 of 3 repeats completed, repeat 1: crash: SIGSEGV";
  }
  SECTION("one was never begun") {
    side.stored->repeats.pop_back();
    reason = "of " + name + " 2 of 3 repeats completed";
  }
  SECTION("one has other bits") {
    side.stored->repeats[2].lead().result->chain = "other";
    reason = name + " does not repeat itself: repeat 2 has other bits than repeat 0";
    // The check that failed for it says it once more, and is left out.
    if (GENERATE(true, false)) {
      side.stored->wrong_numbers = name + " fails numerics.repeat_mismatches: repeat 2 differs";
      side.stored->only_repeats_differ = true;
    }
  }
  SECTION("a check of its repeats failed, which their last bits do not show") {
    reason = side.stored->wrong_numbers = name + " fails numerics.repeat_mismatches: repeat 2 differs";
    side.stored->only_repeats_differ = true;
    ComparedSide& other = is_measured ? pair.second : pair.first;  // whose repeats differ is no word about this side
    other.stored->repeats[2].lead().result->chain = "other";
    const std::string of_other = other.stored->slug + " does not repeat itself: repeat 2 has other bits than repeat 0";
    const auto doubts = compared(replays, pair.first, pair.second).doubts;
    CHECK(std::ranges::count(doubts, reason) == 1);
    CHECK(std::ranges::count(doubts, of_other) == 1);
    return;
  }
  SECTION("a check of its numbers failed") {
    reason = side.stored->wrong_numbers = name + " fails numerics.final_loss";
  }
  SECTION("both have one process") {
    side.stored->repeats[1].nonce = (is_measured ? pair.second : pair.first).stored->repeats[2].nonce;
    reason = "both sides are what one and the same process left, which says nothing";
  }
  const auto comparison = compared(replays, pair.first, pair.second);
  CHECK(comparison.word == Match::not_comparable);
  CHECK(comparison.sentence == "equal bits in 6 steps, but " + reason);
  CHECK(comparison.doubts == std::vector<std::string>{reason});
}

TEST_CASE("a difference names its repeats and keeps what else is wrong", "[stored]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 4, 4, 7}};
  ComparedSide measured = stored(replays, "stack-b");
  measured.attempt.repeat = 2;
  measured.stored->repeats.pop_back();
  const auto comparison = compared(replays, measured, stored(replays, "stack-a"));
  CHECK(comparison.word == Match::differs);
  CHECK_THAT(comparison.sentence, Catch::EndsWith("; repeat 2 against repeat 0; of smoke-mlp-stack-b 2 of 3 repeats "
                                                  "completed"));
}

TEST_CASE("a side without evidence makes the pair not comparable, and says which and why", "[stored]") {
  ScriptedReplays replays;
  ComparedSide measured = stored(replays, "stack-b");
  ComparedSide expected = stored(replays, "stack-a");
  expected.missing = "has no attempt";
  CHECK(compared(replays, measured, expected).word == Match::not_comparable);
  measured.missing = "was skipped: device-class: there is no GPU";
  CHECK(compared(replays, measured, expected).sentence ==
        "nothing to compare: smoke-mlp-stack-b was skipped: device-class: there is no GPU; smoke-mlp-stack-a has no "
        "attempt");
}

// A cell of three repeats on disk, which took so much memory.
ComparedSide timed(ScriptedReplays& replays, const std::string& stack, std::int64_t peak_rss_bytes,
                   const TemporaryFolder& folder) {
  ComparedSide side = stored(replays, stack);
  side.stored->run_folder = folder.path;
  int number = 0;
  for (AttemptRecord& attempt : side.stored->repeats) {
    SampleAttempt sample;
    attempt.nonce = sample.request.nonce;
    attempt.lead().folder = fmt::format("{}-{}", stack, number++);
    attempt.lead().result->peak_rss_bytes = peak_rss_bytes;
    attempt.lead().trace.reset();
    sample.write(folder.path / attempt.lead().folder);
  }
  CellThreshold peak;
  peak.metric = "memory.peak_rss";
  peak.bound = {Bound::Kind::max_regression, 0.1, "max_regression: 10%", true};
  CellThreshold growth;
  growth.metric = "memory.rss_growth";
  growth.bound = {Bound::Kind::max, 1, "max: 1", false};
  side.stored->thresholds = {peak, growth};
  return side;
}

TEST_CASE("time and memory stand beside the bits for every bound on a regression", "[stored]") {
  ScriptedReplays replays;
  const TemporaryFolder folder;
  const ComparedSide expected = timed(replays, "stack-a", 100 << 20, folder);
  ComparedSide measured = timed(replays, "stack-b", 150 << 20, folder);
  const auto ratios = cell_ratios(measured, expected);
  REQUIRE(ratios.size() == 1);
  CHECK(ratios.front().metric == "memory.peak_rss");
  CHECK(ratios.front().status == CheckStatus::failed);
  CHECK(ratios.front().ratio == Approx(1.5));
  CHECK_THAT(ratios.front().sentence, Catch::StartsWith("150.0 MiB against 100.0 MiB: x1.500"));
  measured.stored->repeats[1].end = AttemptEnd::crash;
  CHECK(cell_ratios(measured, expected).empty());
}

TEST_CASE("of two runs of which one was repeated further for noise, those repeats are paired that both have",
          "[stored]") {
  ScriptedReplays replays;
  const TemporaryFolder folder;
  ComparedSide fewer = timed(replays, "stack-a", 100 << 20, folder);
  ComparedSide more = timed(replays, "stack-b", 150 << 20, folder);
  fewer.stored->repeats.pop_back();
  fewer.stored->repeats_due = 2;
  const auto pairs = [&](const ComparedSide& measured, const ComparedSide& expected) {
    const auto ratios = cell_ratios(measured, expected);
    REQUIRE(ratios.size() == 1);
    return ratios.front().ratio.has_value();
  };
  CHECK_FALSE(pairs(more, fewer));  // unequal numbers that nobody planned
  CHECK_FALSE(pairs(fewer, more));
  fewer.stored->looks = more.stored->looks = {2, 3};
  CHECK(pairs(more, fewer));
  CHECK(pairs(fewer, more));
  more.stored->looks = {3};
  CHECK_FALSE(pairs(more, fewer));
  CHECK_FALSE(pairs(fewer, more));
}

}  // namespace
}  // namespace reprobench

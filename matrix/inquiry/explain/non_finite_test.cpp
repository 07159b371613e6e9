#include "matrix/inquiry/explain/non_finite.hpp"

#include "ci/catch.hpp"
#include "matrix/inquiry/scripted_replays.hpp"

namespace reprobench {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ExplainSettings with_replays() {
  ExplainSettings settings;
  settings.explain = true;
  settings.lockstep_batches = 0;
  return settings;
}

CellComparison compare_stacks(ScriptedReplays& replays) {
  return compare_cells(replays.side("stack-b", synthetic_request()), replays.side("stack-a", synthetic_request()),
                       with_replays(), replays);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Deviation nan_at(const std::string& site, std::int64_t step) { return {site, step, step, 3, becomes(kNan)}; }

TEST_CASE("a NaN of the forward pass is traced to its operator and the ranges it came from", "[non_finite]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {nan_at("forward fc2 aten::addmm", 4)};
  const auto comparison = compare_stacks(replays);
  REQUIRE(comparison.non_finite);
  CHECK(comparison.non_finite->is_measured);
  CHECK(comparison.non_finite->step == 4);
  CHECK(contains(comparison.sentence,
                 "the loss of stack-b is not finite at step 4; aten::addmm in the forward of `fc2`, "
                 "call 2 of step 4 made 1 values that are not finite out of finite inputs: input 0 "
                 "in ["));
  CHECK(contains(comparison.sentence, "input 2 in ["));
  CHECK(comparison.non_finite->sentence.ends_with("]"));
  CHECK_FALSE(comparison.explanation);  // a replay up to step 4 could not be held against the other side's
}

TEST_CASE("the range of an input is that of its finite elements", "[non_finite]") {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> mixed{-infinity, 2, std::nanf(""), 3.5F, infinity, -1};
  const std::vector<std::int64_t> indices{3, 4};
  const std::vector<double> spoilt{kNan, kNan};
  const std::vector<std::uint16_t> one_in_bf16{0x3f80};
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {nan_at("forward fc2 aten::addmm", 4)};
  replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose != "tensors") return;
    write_safetensors(outcome.folder / kOperatorTensorsFile,
                      {{"input.0", "F32", {6}, std::as_bytes(std::span(mixed))},
                       {"input.1", "I64", {2}, std::as_bytes(std::span(indices))},
                       {"input.2", "F64", {2}, std::as_bytes(std::span(spoilt))},
                       {"input.3", "BF16", {1}, std::as_bytes(std::span(one_in_bf16))}},
                      {});
  };
  CHECK(compare_stacks(replays).sentence.ends_with(
      ": input 0 in [-1, 3.5], input 1 in integers, input 2 in nothing finite, input 3 in [1, 1]"));
}

TEST_CASE("a NaN of the backward pass or the update is found in the step before the loss shows it", "[non_finite]") {
  ScriptedReplays replays;
  const auto [site, says] =
      GENERATE(std::pair("backward fc1 aten::mm", "aten::mm in the backward of `fc1`"),
               std::pair("optimizer fc2.weight aten::addcdiv_", "aten::addcdiv_ in the optimizer of `fc2.weight`"));
  const std::int64_t step = GENERATE(1, 3);
  CAPTURE(site, step);
  replays.stacks["stack-b"] = {nan_at(site, step)};
  const auto comparison = compare_stacks(replays);
  REQUIRE(comparison.non_finite);
  CHECK(comparison.non_finite->step == step + 1);
  CHECK(contains(comparison.non_finite->sentence, says));
  CHECK(contains(comparison.non_finite->sentence, fmt::format("of step {} made 1 values", step)));
}

TEST_CASE("a NaN that was put into the state is nobody's, and who meets it first is named", "[non_finite]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {nan_at("parameter fc1.weight", 4)};
  const auto comparison = compare_stacks(replays);
  CHECK(contains(comparison.sentence,
                 "no operator made it: aten::addmm in the forward of `fc1`, call 0 of step 4 "
                 "already meets 1 values that are not finite in its input 2"));
}

TEST_CASE("what is not finite in every step, as a mask is, made nothing", "[non_finite]") {
  ScriptedReplays replays;
  const Deviation masked{"forward fc1 aten::addmm", 1, 99, 3, becomes(-std::numeric_limits<double>::infinity())};
  replays.stacks["stack-a"] = {masked};
  replays.stacks["stack-b"] = {masked, nan_at("forward fc2 aten::addmm", 4)};
  CHECK(contains(compare_stacks(replays).sentence, "call 2 of step 4 made 1 values"));
}

TEST_CASE("in the first step the other side shows what is usual, if it is any better", "[non_finite]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {nan_at("forward act aten::relu", 1)};
  SECTION("it is") {
    const auto comparison = compare_stacks(replays);
    CHECK(contains(comparison.sentence, "aten::relu in the forward of `act`, call 1 of step 1 made 1 values"));
    CHECK(replays.calls[1].front().request.stack == "stack-a");
  }
  SECTION("it is not") {
    replays.stacks["stack-a"] = {nan_at("forward fc1 aten::addmm", 1)};
    const auto comparison = compare_stacks(replays);
    CHECK(contains(comparison.sentence, "both sides fail in their first step"));
    CHECK(replays.calls.empty());
  }
}

TEST_CASE("both sides with one NaN in one place have equal bits, and are not called equal", "[non_finite]") {
  ScriptedReplays replays;
  replays.stacks["stack-a"] = replays.stacks["stack-b"] = {nan_at("forward fc2 aten::addmm", 4)};
  const auto comparison = compare_stacks(replays);
  CHECK(comparison.word == Match::not_comparable);
  CHECK(comparison.sentence == "equal bits in 4 steps, but the loss of stack-b is not finite at step 4");
}

TEST_CASE("of two sides that fail the one that fails first is looked at, in one step the measured one",
          "[non_finite]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {nan_at("forward fc2 aten::addmm", 4)};
  const std::int64_t theirs = GENERATE(3, 4, 5);
  replays.stacks["stack-a"] = {nan_at("forward fc1 aten::addmm", theirs)};
  const auto comparison = compare_stacks(replays);
  CHECK(comparison.non_finite->is_measured == (theirs >= 4));
  CHECK(comparison.non_finite->step == std::min<std::int64_t>(theirs, 4));
  for (const auto& tasks : replays.calls) {
    for (const ReplayTask& task : tasks) CHECK(task.request.stack == (theirs >= 4 ? "stack-b" : "stack-a"));
  }
}

TEST_CASE("a difference before the loss fails is explained, too", "[non_finite]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 2, 2, 0}, nan_at("forward fc2 aten::addmm", 4)};
  const auto comparison = compare_stacks(replays);
  REQUIRE(comparison.explanation);
  CHECK(comparison.explanation->call->measured.step == 2);
  CHECK(contains(comparison.non_finite->sentence, "of step 4 made"));
}

TEST_CASE("a replay that leaves no whole record of operators leaves the origin unanswered", "[non_finite]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {nan_at("forward fc2 aten::addmm", 4)};
  const bool cut = GENERATE(true, false);
  replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose != "operators") return;
    const auto path = outcome.folder / kOperatorsFile;
    std::filesystem::resize_file(path, cut ? std::filesystem::file_size(path) - 7 : 0);
  };
  const auto comparison = compare_stacks(replays);
  REQUIRE(comparison.unanswered.size() == 1);
  CHECK(comparison.unanswered.front().starts_with("origin of what is not finite: "));
  CHECK(comparison.word == Match::differs);
}

TEST_CASE("only a loss that is not finite is an end of this sort", "[non_finite]") {
  AttemptRecord attempt;
  CHECK_FALSE(non_finite_step(attempt));
  attempt.lead().result = CellResult{};
  CHECK_FALSE(non_finite_step(attempt));
  attempt.lead().result->failure = WorkerFailure{"exception", "", 3};
  CHECK_FALSE(non_finite_step(attempt));
  attempt.lead().result->failure->cause = "non_finite_loss";
  CHECK(non_finite_step(attempt) == 3);
}

}  // namespace
}  // namespace reprobench

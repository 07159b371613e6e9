#include "matrix/verdict/metrics/skipped_updates.hpp"

#include "ci/catch.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

using sample::candidate;

constexpr int kScaledSteps = 6;

// A training with a dynamic scale that skips these steps, with scales to match.
AttemptRecord scaled(int repeat, const std::vector<std::int64_t>& skips, const std::string& bits = "same") {
  AttemptRecord attempt = sample::attempt(repeat, 3e5, bits, kScaledSteps);
  attempt.lead().result->knobs_resolved["loss_scale"] = "dynamic";
  double scale = 65536;
  for (StepRecord& step : attempt.lead().trace->steps) {
    const bool is_skipped = std::ranges::find(skips, step.step) != skips.end();
    step.loss_scale = scale;
    step.events["skipped"] = is_skipped ? 1 : 0;
    if (is_skipped) scale /= 2;
  }
  return attempt;
}

StepRecord& step_of(AttemptRecord& attempt, std::int64_t step) {
  return attempt.lead().trace->steps[static_cast<std::size_t>(step - 1)];
}

TEST_CASE("the share of skipped steps is that of the rank with most", "[verdict][loss_scale]") {
  AttemptRecord attempt = scaled(0, {2, 3, 5});
  CHECK(skipped_updates(attempt, {}).value == 0.5);
  CHECK(skipped_updates(attempt, {}).finding == "3 of 6 steps are skipped");
  CHECK(skipped_updates(scaled(0, {}), {}).value == 0.0);
  attempt.ranks.push_back(scaled(0, {1, 2, 3, 4}).lead());
  CHECK(skipped_updates(attempt, {}).finding == "4 of 6 steps are skipped");
  const Measurement constant = skipped_updates(sample::attempt(0, 3e5), {});
  CHECK_FALSE(constant.value);
  CHECK(constant.missing == "repeat 0 has a constant loss scale, with which no step is skipped");
}

TEST_CASE("a scale on record makes it dynamic, whatever the knob says, and a knob alone does too",
          "[verdict][loss_scale]") {
  AttemptRecord attempt = scaled(7, {2, 3});
  attempt.lead().result->knobs_resolved.erase("loss_scale");
  CHECK(skipped_updates(attempt, {}).finding == "2 of 6 steps are skipped");
  attempt.lead().result->knobs_resolved["loss_scale"] = "1024";
  CHECK(skipped_updates(attempt, {}).finding == "2 of 6 steps are skipped");
  for (StepRecord& step : attempt.lead().trace->steps) {
    if (step.step != 4) step.loss_scale.reset();
  }
  CHECK(skipped_updates(attempt, {}).missing ==
        "repeat 7 cannot be counted: step 1 does not say whether it was skipped");
  step_of(attempt, 4).loss_scale.reset();
  CHECK(skipped_updates(attempt, {}).missing == "repeat 7 has a constant loss scale, with which no step is skipped");
  attempt.lead().result->knobs_resolved["loss_scale"] = "dynamic";
  attempt.lead().trace->steps.clear();
  CHECK(skipped_updates(attempt, {}).missing == "repeat 7 has no steps");
}

TEST_CASE("who does not say what was skipped, or says what scales contradict, has no value", "[verdict][loss_scale]") {
  const auto missing = [](auto change) {
    AttemptRecord attempt = scaled(0, {2});
    change(attempt);
    const Measurement measurement = skipped_updates(attempt, {});
    CHECK_FALSE(measurement.value);
    return measurement.missing;
  };
  CHECK(missing([](AttemptRecord& a) { step_of(a, 4).events.erase("skipped"); }) ==
        "repeat 0 cannot be counted: step 4 does not say whether it was skipped");
  CHECK(missing([](AttemptRecord& a) { step_of(a, 4).events["skipped"] = "no"; }) ==
        "repeat 0 cannot be counted: step 4 does not say whether it was skipped");
  CHECK(missing([](AttemptRecord& a) { step_of(a, 6).loss_scale.reset(); }) ==
        "repeat 0 cannot be counted: step 6 does not say whether it was skipped");
  CHECK(missing([](AttemptRecord& a) { step_of(a, 2).events["skipped"] = 0; }) ==
        "repeat 0 cannot be counted: step 2 is said to have updated, and the loss scale of the next is 32768 against "
        "65536");
  CHECK(missing([](AttemptRecord& a) { step_of(a, 4).events["skipped"] = 1; }) ==
        "repeat 0 cannot be counted: step 4 is said to be skipped, and the loss scale of the next is 32768 against "
        "32768");
  CHECK(missing([](AttemptRecord& a) {
          for (StepRecord& step : a.lead().trace->steps) step = sample::attempt(0, 3e5).lead().trace->steps.front();
        }) == "repeat 0 cannot be counted: step 1 does not say whether it was skipped");
}

RunRecord run_of(const std::vector<std::int64_t>& ours, const std::vector<std::int64_t>& theirs,
                 const std::string& bits = "same") {
  RunRecord run = sample::run(2, 1.0,
                              {sample::threshold("numerics.final_loss", Bound::Kind::max, 10, false),
                               sample::threshold("numerics.repeat_mismatches", Bound::Kind::max, 0, false),
                               sample::threshold("numerics.reference_mismatches", Bound::Kind::max, 0, true)});
  for (CellRecord& cell : run.cells) {
    const bool is_candidate = cell.cell_id == sample::kCandidateId;
    for (AttemptRecord& attempt : cell.attempts) {
      attempt = scaled(attempt.repeat, is_candidate ? ours : theirs, is_candidate ? bits : "same");
    }
  }
  return run;
}

TEST_CASE("a training that skipped every step fails, though its losses are finite and its bits equal",
          "[verdict][loss_scale]") {
  const std::vector<std::int64_t> all{1, 2, 3, 4, 5, 6};
  const CellVerdict idle = candidate(judge(run_of(all, all)));
  for (const CheckResult& check : idle.checks) {
    CHECK((check.metric == "numerics.updates" || check.status == CheckStatus::passed));
  }
  CHECK(idle.outcome == Outcome::failed);
  CHECK(idle.reason == "nothing_updated");
  CHECK(idle.sentence == "repeat 0: 6 of 6 steps are skipped: no gradient was finite, and nothing was trained");
  const CellVerdict one_step = candidate(judge(run_of({1, 2, 3, 4, 5}, {1, 2, 3, 4, 5})));
  CHECK(one_step.outcome == Outcome::passed);
}

TEST_CASE("one repeat, or one rank, that skipped every step is enough", "[verdict][loss_scale]") {
  const std::vector<std::int64_t> all{1, 2, 3, 4, 5, 6};
  RunRecord run = run_of({}, {});
  candidate(run).attempts[1] = scaled(1, all);
  CHECK(candidate(judge(run)).reason == "nothing_updated");
  run = run_of({}, {});
  candidate(run).attempts[1].ranks.push_back(scaled(1, all).lead());
  CHECK(candidate(judge(run)).reason == "nothing_updated");
}

TEST_CASE("what nothing updated is a whole check, and goes before what is not known", "[verdict][loss_scale]") {
  CellEvidence cell{"cell", "cpu", "", {scaled(3, {2}), scaled(4, {1, 2, 3, 4, 5, 6}), scaled(5, {})}};
  step_of(cell.repeats[0], 1).events.erase("skipped");
  const auto idle = no_updates(cell);
  REQUIRE(idle);
  CHECK(idle->metric == "numerics.updates");
  CHECK(idle->dimension == Dimension::numerics);
  CHECK(idle->gate == Gate::armed);
  CHECK(idle->status == CheckStatus::failed);
  CHECK(idle->reason == "nothing_updated");
  CHECK(idle->unit == "count");
  CHECK(idle->measured == 0.0);
  CHECK(idle->samples == 3);
  CHECK(idle->bound == "min: 1");
  CHECK(idle->origin == "built in");
  CHECK(idle->repeat == 4);
  cell.repeats[1] = scaled(4, {2});
  step_of(cell.repeats[1], 2).events.erase("skipped");
  const auto unknown = no_updates(cell);  // of two the first
  REQUIRE(unknown);
  CHECK(unknown->status == CheckStatus::inconclusive);
  CHECK(unknown->reason == "missing_metric");
  CHECK_FALSE(unknown->measured);
  CHECK(unknown->sentence == "repeat 3: step 1 does not say whether it was skipped");
  CHECK(unknown->repeat == 3);
  CHECK_FALSE(no_updates({"cell", "cpu", "", {scaled(3, {2}), sample::attempt(4, 3e5)}}));
}

TEST_CASE("a training with a dynamic scale that hides its skips is undecided", "[verdict][loss_scale]") {
  RunRecord run = run_of({2}, {2});
  for (AttemptRecord& attempt : candidate(run).attempts) {
    for (StepRecord& step : attempt.lead().trace->steps) step.events.erase("skipped");
  }
  const CellVerdict hidden = candidate(judge(run));
  CHECK(hidden.outcome == Outcome::inconclusive);
  CHECK(hidden.reason == "missing_metric");
  CHECK(hidden.sentence == "numerics.updates: repeat 0: step 1 does not say whether it was skipped");
}

TEST_CASE("two stacks that skip at different steps are told which, and who", "[verdict][loss_scale]") {
  const auto told = [](const std::vector<std::int64_t>& ours, const std::vector<std::int64_t>& theirs) {
    const CellVerdict cell = candidate(judge(run_of(ours, theirs, "other")));
    for (const CheckResult& check : cell.checks) {
      if (check.metric == "numerics.reference_mismatches") return check.sentence;
    }
    return std::string();
  };
  const std::string ours = told({2, 4}, {2, 5});
  CHECK(ours.find("; repeat 0 skips the update of step 4, ") != std::string::npos);
  CHECK(ours.find(" does not") != std::string::npos);
  CHECK(told({5}, {2, 5}).find(" skips the update of step 2, repeat 0 does not") != std::string::npos);
  CHECK(told({2, 5}, {2, 5}).find("skips") == std::string::npos);
}

TEST_CASE("a step that one side says nothing of is no skip of the other, and the first that both tell counts",
          "[verdict][loss_scale]") {
  RunRecord run = run_of({2, 4}, {5}, "other");
  const Trace ours = *candidate(run).attempts[0].lead().trace;
  const auto told = [&](const Trace& a, const Trace& b) { return other_skip_text(a, b, "a", "b"); };
  CHECK(told(ours, ours).empty());
  Trace silent = ours;
  for (StepRecord& step : silent.steps) step.events.erase("skipped");
  CHECK(told(ours, silent).empty());
  CHECK(told(silent, ours).empty());
  CHECK(told(silent, silent).empty());
  Trace shorter = ours;
  shorter.steps.resize(1);
  CHECK(told(ours, shorter).empty());
  CHECK(told(shorter, ours).empty());
}

}  // namespace
}  // namespace reprobench

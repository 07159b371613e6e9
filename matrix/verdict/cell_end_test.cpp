// How attempts and checks become the end of a cell, one rule at a time.
#include "matrix/verdict/cell_end.hpp"

#include <limits>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

AttemptRecord ended_by(int repeat, AttemptEnd end, int number = 0, const std::string& detail = "why") {
  AttemptRecord attempt = sample::attempt(repeat, 1000, "same", 2);
  attempt.attempt = number;
  attempt.end = end;
  attempt.detail = detail;
  return attempt;
}

AttemptRecord refused(int repeat, const std::string& cause) {
  AttemptRecord attempt = ended_by(repeat, AttemptEnd::worker_error);
  attempt.lead().result->failure = WorkerFailure{cause, "", 0};
  return attempt;
}

struct ThreeRepeats {
  explicit ThreeRepeats(std::vector<AttemptRecord> attempts) : record{"x", std::move(attempts)} { cell.repeat = 3; }
  std::vector<const AttemptRecord*> last() const { return last_attempts(cell, record); }
  std::optional<Ended> early() const { return ended_early(cell, last(), "stack", {}); }

  Cell cell;
  CellRecord record;
};

constexpr auto kDone = AttemptEnd::completed;

TEST_CASE("of each repeat the attempt of the highest number counts, wherever it stands", "[verdict]") {
  const ThreeRepeats scene({ended_by(2, kDone, 1), ended_by(0, AttemptEnd::crash, 0), ended_by(2, AttemptEnd::lost, 0),
                            ended_by(0, kDone, 2), ended_by(0, AttemptEnd::hang, 1), ended_by(3, kDone)});
  const auto last = scene.last();
  REQUIRE(last.size() == 3);
  CHECK(last[0] == &scene.record.attempts[3]);
  CHECK(last[1] == nullptr);
  CHECK(last[2] == &scene.record.attempts[0]);
}

TEST_CASE("a cell whose repeats all completed has not ended early", "[verdict]") {
  CHECK_FALSE(ThreeRepeats({ended_by(0, kDone), ended_by(1, kDone), ended_by(2, kDone)}).early());
}

TEST_CASE("of several failures of the product the first repeat's is named", "[verdict]") {
  const auto early =
      ThreeRepeats({ended_by(0, kDone), ended_by(1, AttemptEnd::hang, 0, "no step"), ended_by(2, AttemptEnd::crash)})
          .early();
  REQUIRE(early);
  CHECK(early->outcome == Outcome::failed);
  CHECK(std::string(early->reason) == "hang");
  CHECK(early->sentence == "repeat 1: no step");
  CHECK(early->repeat == 1);
  CHECK(early->metric.empty());
}

TEST_CASE("what infrastructure broke names its repeat", "[verdict]") {
  const auto early = ThreeRepeats({ended_by(0, kDone), ended_by(1, AttemptEnd::store), ended_by(2, kDone)}).early();
  REQUIRE(early);
  CHECK(early->outcome == Outcome::errored);
  CHECK(std::string(early->reason) == "store");
  CHECK(early->sentence == "repeat 1: why");
  CHECK(early->repeat == 1);
}

TEST_CASE("a repeat that never began leaves the cell unfinished, and no repeat is to blame", "[verdict]") {
  const auto early = ThreeRepeats({ended_by(0, kDone), ended_by(2, kDone)}).early();
  REQUIRE(early);
  CHECK(early->outcome == Outcome::unfinished);
  CHECK(std::string(early->reason) == "interrupted");
  CHECK(early->sentence == "the run ended before all repeats of this cell did");
  CHECK_FALSE(early->repeat);
}

TEST_CASE("a refused fault is the asker's where one was to be planted in that repeat, and the worker's elsewhere",
          "[verdict]") {
  ThreeRepeats scene({ended_by(0, kDone), refused(1, "bad_request"), ended_by(2, kDone)});
  CHECK(scene.early()->outcome == Outcome::failed);
  scene.cell.injections[0] = {"weight_ulp", 1, "fc1.weight", 0};
  CHECK(scene.early()->outcome == Outcome::failed);
  scene.cell.injections[1] = {"weight_ulp", 1, "fc1.weight", 0};
  CHECK(scene.early()->outcome == Outcome::errored);
  CHECK(std::string(scene.early()->reason) == std::string(kBadInjection));
  CHECK(scene.early()->repeat == 1);
  SECTION("another cause is the worker's") { scene.record.attempts[1] = refused(1, "exception"); }
  SECTION("a worker that says no cause") { scene.record.attempts[1].lead().result->failure.reset(); }
  SECTION("a worker that left no result") { scene.record.attempts[1].lead().result.reset(); }
  SECTION("a crash is the stack's, whatever was planted") { scene.record.attempts[1].end = AttemptEnd::crash; }
  SECTION("another repeat that crashed decides") { scene.record.attempts[2].end = AttemptEnd::crash; }
  CHECK(scene.early()->outcome == Outcome::failed);
}

TEST_CASE("a file that somebody changed, or that is none, is nobody's failure, and hides no other repeat's",
          "[verdict]") {
  const std::string cause = GENERATE("input_changed", "input_refused");
  ThreeRepeats scene({ended_by(0, kDone), refused(1, cause), refused(2, "unsupported")});
  CHECK(scene.early()->outcome == Outcome::errored);
  CHECK(std::string(scene.early()->reason) == cause);
  CHECK(scene.early()->repeat == 1);
  scene.record.attempts[2].end = AttemptEnd::crash;
  CHECK(scene.early()->outcome == Outcome::failed);
  scene.record.attempts[2] = ended_by(2, kDone);
  scene.record.attempts[1].end = AttemptEnd::crash;  // whatever it had written before
  CHECK(scene.early()->outcome == Outcome::failed);
  CHECK(std::string(scene.early()->reason) == "crash");
}

TEST_CASE("a refused fault goes before what infrastructure broke, and that before what is unsupported", "[verdict]") {
  ThreeRepeats scene({refused(0, "bad_request"), ended_by(1, AttemptEnd::lost), refused(2, "unsupported")});
  scene.cell.injections[0] = {"weight_ulp", 1, "fc1.weight", 0};
  CHECK(std::string(scene.early()->reason) == std::string(kBadInjection));
  scene.record.attempts[0] = ended_by(0, kDone);
  CHECK(std::string(scene.early()->reason) == "lost");
  scene.record.attempts[1].end = AttemptEnd::interrupted;
  CHECK(std::string(scene.early()->reason) == "unsupported");
  CHECK(scene.early()->outcome == Outcome::inconclusive);
  CHECK(scene.early()->repeat == 2);
}

TEST_CASE("what the rank that ended an attempt said decides, not what the first did", "[verdict][ranks]") {
  AttemptRecord attempt = ended_by(0, AttemptEnd::worker_error);
  attempt.ranks.push_back(attempt.lead());
  attempt.ranks[1].result->failure = WorkerFailure{"unsupported", "", 0};
  attempt.ended_by = 1;
  ThreeRepeats scene({attempt, ended_by(1, kDone), ended_by(2, kDone)});
  CHECK(scene.early()->outcome == Outcome::inconclusive);
  scene.record.attempts[0].ended_by = 0;
  CHECK(scene.early()->outcome == Outcome::failed);
}

TEST_CASE("repeats share a workload digest or have none", "[verdict]") {
  ThreeRepeats scene({ended_by(0, kDone), ended_by(1, kDone), ended_by(2, kDone)});
  const std::string digest = scene.record.attempts[0].lead().result->workload_digest;
  CHECK(common_workload_digest(scene.last()) == digest);
  scene.record.attempts[2].lead().result->workload_digest = "another";
  CHECK_FALSE(common_workload_digest(scene.last()));
}

CheckResult check_named(const std::string& metric, CheckStatus status, Gate gate = Gate::armed) {
  CheckResult result;
  result.metric = metric;
  result.status = status;
  result.gate = gate;
  result.reason = "over_bound";
  result.sentence = "of " + metric;
  result.repeat = static_cast<int>(metric.size());
  return result;
}

TEST_CASE("the first armed check that failed decides, with its metric for a reason", "[verdict]") {
  const Ended end = from_checks(
      {check_named("recorded", CheckStatus::failed, Gate::record_only), check_named("open", CheckStatus::inconclusive),
       check_named("first", CheckStatus::failed), check_named("second", CheckStatus::failed)});
  CHECK(end.outcome == Outcome::failed);
  CHECK(end.metric == "first");
  CHECK(end.sentence == "of first");
  CHECK(end.repeat == 5);
}

TEST_CASE("without a failure the first armed check that is open decides", "[verdict]") {
  const Ended end = from_checks({check_named("recorded", CheckStatus::inconclusive, Gate::record_only),
                                 check_named("ok", CheckStatus::passed), check_named("open", CheckStatus::inconclusive),
                                 check_named("other", CheckStatus::inconclusive)});
  CHECK(end.outcome == Outcome::inconclusive);
  CHECK(std::string(end.reason) == "over_bound");
  CHECK(end.sentence == "open: of open");
  CHECK(end.repeat == 4);
  CHECK(end.metric.empty());
}

TEST_CASE("a cell passes by armed checks alone, and says by how many", "[verdict]") {
  const Ended passed = from_checks({check_named("a", CheckStatus::passed), check_named("b", CheckStatus::passed),
                                    check_named("recorded", CheckStatus::failed, Gate::record_only)});
  CHECK(passed.outcome == Outcome::passed);
  CHECK(passed.sentence == "2 of 2 armed checks passed");
  const Ended recorded = from_checks({check_named("recorded", CheckStatus::passed, Gate::record_only)});
  CHECK(recorded.outcome == Outcome::recorded);
  CHECK(recorded.sentence == "ran to completion; its 1 checks are record-only");
  CHECK(from_checks({}).outcome == Outcome::recorded);
  CHECK(from_checks({}).sentence == "ran to completion; no threshold applies to it");
}

CellEvidence two_repeats() { return {"cell", "cpu", "", {ended_by(3, kDone), ended_by(4, kDone)}}; }

TEST_CASE("a loss that is no number is a whole check, which names its repeat and step", "[verdict]") {
  const double broken =
      GENERATE(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1.0 / 0.0);
  CellEvidence cell = two_repeats();
  CHECK_FALSE(non_finite_loss(cell));
  cell.repeats[1].lead().trace->steps[1].loss = exact_float(broken);
  const auto found = non_finite_loss(cell);
  REQUIRE(found);
  CHECK(found->metric == "numerics.finite_loss");
  CHECK(found->dimension == Dimension::numerics);
  CHECK(found->gate == Gate::armed);
  CHECK(found->status == CheckStatus::failed);
  CHECK(found->reason == "non_finite_loss");
  CHECK(found->sentence == "repeat 4: the loss of step 2 is not a finite number");
  CHECK(found->unit == "count");
  CHECK(found->measured == 1.0);
  CHECK(found->samples == 2);
  CHECK(found->bound == "max: 0");
  CHECK(found->origin == "built in");
  CHECK(found->repeat == 4);
}

TEST_CASE("weights, gradients and state are numbers in every step on record and after the last", "[verdict]") {
  CellEvidence cell = two_repeats();
  Trace& trace = *cell.repeats[1].lead().trace;
  TensorRecord tensor{"fc1.weight", TensorRole::parameter, "float32", {2}, "d", TensorSketch{}};
  const auto found = [&](TensorRole role, std::int64_t nans, std::int64_t infinities, bool is_final = false) {
    tensor.role = role;
    tensor.sketch->nan_count = nans;
    tensor.sketch->inf_count = infinities;
    trace.tensors = {{2, is_final, {tensor}}};
    const auto check = non_finite_tensor(cell);
    return check ? check->sentence : "";
  };
  CHECK(found(TensorRole::parameter, 0, 0).empty());
  CHECK(found(TensorRole::parameter, 1, 0) == "repeat 4: 1 value of `fc1.weight` (parameter) is not finite in step 2");
  CHECK(found(TensorRole::parameter_gradient, 1, 2) ==
        "repeat 4: 3 values of `fc1.weight` (parameter_gradient) are not finite in step 2");
  CHECK(found(TensorRole::optimizer_state, 0, 1, true) ==
        "repeat 4: 1 value of `fc1.weight` (optimizer_state) is not finite after step 2");
  CHECK(found(TensorRole::buffer, 1, 0) == "repeat 4: 1 value of `fc1.weight` (buffer) is not finite in step 2");
  CHECK(found(TensorRole::buffer, 0, 1).empty());
  CHECK(found(TensorRole::forward_output, 1, 1).empty());
  // A dynamic loss scale leaves the step out, but not what it would have spoilt.
  for (StepRecord& step : trace.steps) step.events["skipped"] = step.step == 2 ? 1 : 0;
  CHECK(found(TensorRole::parameter_gradient, 0, 1).empty());
  CHECK_FALSE(found(TensorRole::parameter, 0, 1).empty());
  trace.steps[1].events["skipped"] = 0;
  const auto check = non_finite_tensor(cell);
  REQUIRE(check);
  CHECK(check->metric == "numerics.finite_tensors");
  CHECK(check->reason == "non_finite_tensor");
  CHECK(check->gate == Gate::armed);
  tensor.sketch.reset();
  trace.tensors = {{2, false, {tensor}}};
  CHECK_FALSE(non_finite_tensor(cell));
}

TEST_CASE("the loss of every rank must be a number, and what cannot be read is none", "[verdict][ranks]") {
  CellEvidence cell = two_repeats();
  cell.repeats[0].ranks.push_back(cell.repeats[0].lead());
  CHECK_FALSE(non_finite_loss(cell));
  cell.repeats[0].ranks[1].trace->steps[0].loss = nlohmann::json(nullptr);
  CHECK(non_finite_loss(cell)->sentence == "repeat 3, rank 1: the loss of step 1 is not a finite number");
}

TEST_CASE("ranks that do not share loss and gradient norm do not train one model", "[verdict][ranks]") {
  CellEvidence cell = two_repeats();
  for (AttemptRecord& attempt : cell.repeats) attempt.ranks.resize(2, attempt.lead());
  CHECK_FALSE(ranks_apart(cell));
  std::vector<RankRecord>& ranks = cell.repeats[1].ranks;
  const auto sentence = [&] { return ranks_apart(cell).value_or(CheckResult{}).sentence; };
  SECTION("loss") {
    ranks[1].trace->steps[1].loss = exact_float(0.25f);
    CHECK(sentence() == "repeat 4: the loss of step 2 on rank 1 is not that of rank 0: they do not train one model");
    CHECK(ranks_apart(cell)->metric == "numerics.ranks_apart");
    CHECK(ranks_apart(cell)->reason == "ranks_apart");
    CHECK(ranks_apart(cell)->gate == Gate::armed);
    CHECK(ranks_apart(cell)->repeat == 4);
  }
  SECTION("gradient norm, which is not measured in every step") {
    ranks[0].trace->steps[0].grad_norm = exact_float(2.0f);
    CHECK_FALSE(ranks_apart(cell));
    ranks[1].trace->steps[0].grad_norm = exact_float(1.0f);
    CHECK(sentence() ==
          "repeat 4: the gradient norm of step 1 on rank 1 is not that of rank 0: they do not train one model");
  }
  SECTION("after it was resumed") {
    cell.repeats[1].segments = {{AttemptSegment::resumed, ranks}};
    cell.repeats[1].segments[0].ranks[1].trace->steps[0].loss = exact_float(0.25f);
    CHECK(sentence().starts_with("repeat 4: the loss of step 1 on rank 1"));
  }
}

}  // namespace
}  // namespace reprobench

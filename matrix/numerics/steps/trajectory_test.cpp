#include "matrix/numerics/steps/trajectory.hpp"

#include <cmath>
#include <span>

#include "ci/catch.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/numerics/steps/discrete_events.hpp"
#include "matrix/numerics/steps/drifting_runs.hpp"

namespace reprobench {
namespace {

TEST_CASE("a trajectory holds the distance of the parameters after each update", "[trajectory]") {
  const auto points = trajectory(drifting::run(1e-6), drifting::run(0));
  REQUIRE(points.size() == drifting::kSteps);
  CHECK(points.front().step == 1);
  CHECK(points.back().step == drifting::kSteps);
  CHECK(points.back().distance_rel == Approx(1e-5));
}

TEST_CASE("the points of an envelope stand by step, whichever member has them", "[trajectory]") {
  const Trace base = drifting::run(0);
  Trace sparse = drifting::run(1e-6);
  sparse.tensors.erase(sparse.tensors.begin() + 2, sparse.tensors.begin() + 5);
  const Trace full = drifting::run(1e-6);
  const Trace* members[] = {&sparse, &full};
  const Envelope envelope = envelope_of(members, base, "torch-2.8.0-cu128");
  REQUIRE(envelope.points.size() == drifting::kSteps);
  for (std::size_t i = 0; i < envelope.points.size(); ++i) {
    CHECK(envelope.points[i].step == static_cast<std::int64_t>(i) + 1);
  }
}

TEST_CASE("three times the furthest member is within, more is outside", "[trajectory]") {
  CHECK(judge_trajectory(drifting::run(2.9e-6), drifting::run(0), drifting::envelope(1e-6)).word == "within");
  const auto outside = judge_trajectory(drifting::run(1e-4), drifting::run(0), drifting::envelope(1e-6));
  CHECK(outside.word == "outside");
  CHECK(outside.sentence.find("after 1 steps") != std::string::npos);
}

TEST_CASE("a distance that is not a number is outside", "[trajectory]") {
  Trace spoilt = drifting::run(0);
  spoilt.tensors[4].tensors.front().sketch->nan_count = 1;
  CHECK(judge_trajectory(spoilt, drifting::run(0), drifting::envelope(1e-6)).word == "outside");
}

TEST_CASE("a run that lacks a parameter's sketch is not judged, unless it is outside", "[trajectory]") {
  Trace gap = drifting::run(1e-6);
  const std::size_t at = GENERATE(1, 5, 10);  // the first update, one between, the final state
  SECTION("the sketch") { gap.tensors[at].tensors.front().sketch.reset(); }
  SECTION("a tensor more") { gap.tensors[at].tensors.push_back(drifting::tensor("fc2", TensorRole::parameter, 0)); }
  SECTION("the whole record") { gap.tensors.erase(gap.tensors.begin() + static_cast<std::ptrdiff_t>(at)); }
  const auto judged = judge_trajectory(gap, drifting::run(0), drifting::envelope(1e-6));
  CHECK(judged.word == "not_judged");
  CHECK(judged.sentence == "after " + std::to_string(at) + " steps one of the runs lacks the sketch of a parameter");
  CHECK(judge_trajectory(drifting::run(0), gap, drifting::envelope(1e-6)).word == "not_judged");
  CHECK(judge_trajectory(gap, drifting::run(0), drifting::envelope(1e-6, 2)).word == "not_judged");
  for (TensorsRecord& record : gap.tensors) {
    if (record.step == 3) record.tensors.front() = drifting::tensor("fc1.weight", TensorRole::parameter, 1e-3);
  }
  CHECK(judge_trajectory(gap, drifting::run(0), drifting::envelope(1e-6)).word == "outside");
}

TEST_CASE("beyond the horizon ten times the furthest member is within", "[trajectory]") {
  const Envelope flipping = drifting::envelope(1e-6, 4);
  CHECK(flipping.horizon_step == 3);
  const auto judged = judge_trajectory(drifting::run(1e-6), drifting::run(0), flipping);
  CHECK(judged.word == "within");
  CHECK(*judged.points.at(2).bound_rel == Approx(9e-6 + 4 * 0x1p-24 * std::sqrt(3)));
  CHECK(*judged.points.at(3).bound_rel == Approx(40e-6 + 8 * 0x1p-24));
  CHECK(judge_trajectory(drifting::run(2.9e-6), drifting::run(0), flipping).word == "within");
  Trace late = drifting::run(2.9e-6);
  for (TensorsRecord& record : late.tensors) {
    if (record.step == 7) record.tensors.front() = drifting::tensor("fc1.weight", TensorRole::parameter, 59e-6);
  }
  CHECK(judge_trajectory(late, drifting::run(0), flipping).word == "within");
  for (TensorsRecord& record : late.tensors) {
    if (record.step == 7) record.tensors.front() = drifting::tensor("fc1.weight", TensorRole::parameter, 62e-6);
  }
  const auto outside = judge_trajectory(late, drifting::run(0), flipping);
  CHECK(outside.word == "outside");
  CHECK(outside.sentence.starts_with("after 6 steps the parameters are 6.2e-05 apart"));
  CHECK(judge_trajectory(drifting::run(1), drifting::run(0), drifting::envelope(1e-6, 1)).word == "outside");
}

TEST_CASE("an ensemble that is 1e-3 away has reached its horizon", "[trajectory]") {
  CHECK(drifting::envelope(3e-4).horizon_step == 3);
}

TEST_CASE("a mask that flips between the two runs alone excuses no distance", "[trajectory]") {
  const auto judged = judge_trajectory(drifting::run(1, 1), drifting::run(0), drifting::envelope(1e-6));
  CHECK(judged.word == "not_judged");
  CHECK(judged.sentence ==
        "after 1 steps the parameters are 1 apart, more than 1-ulp moves of one weight explain; a mask flips at step 1 "
        "between the two runs, before any of the ensemble does, which may have made it");
  CHECK(judge_trajectory(drifting::run(1e-6, 1), drifting::run(0), drifting::envelope(1e-6)).word == "within");
  // The distance came first, or the ensemble's own mask did.
  CHECK(judge_trajectory(drifting::run(1, 2), drifting::run(0), drifting::envelope(1e-6)).word == "outside");
  CHECK(judge_trajectory(drifting::run(1, 1), drifting::run(0), drifting::envelope(1e-6, 1)).word == "outside");
}

TEST_CASE("where steps are forgotten no first flip is told, and no trajectory judged", "[trajectory]") {
  Trace ours = drifting::run(1e-6, 6);
  Trace theirs = drifting::run(0);
  REQUIRE(event_flips(ours, theirs).size() == 1);
  REQUIRE(judge_trajectory(drifting::run(1e-6), drifting::run(0), drifting::envelope(1e-6)).word == "within");
  const bool is_ours = GENERATE(true, false);
  (is_ours ? ours : theirs).header.level = TraceLevel::recent;
  CHECK(event_flips(ours, theirs).empty());
  ours = drifting::run(1e-6);
  ours.header.level = is_ours ? TraceLevel::recent : TraceLevel::tensor;
  const auto judged = judge_trajectory(ours, theirs, drifting::envelope(1e-6));
  CHECK(judged.word == "not_judged");
  CHECK(judged.sentence.find("`trace: tensor`") != std::string::npos);
  CHECK(judged.points.empty());
}

TEST_CASE("an envelope is the furthest of all its members at every step, whatever their order", "[trajectory]") {
  const Trace base = drifting::run(0);
  const Trace near = drifting::run(1e-6);
  const Trace far = drifting::run(2e-6);
  Trace bent = drifting::run(0.5e-6);  // nearest everywhere but at the end
  bent.tensors.back().tensors.front() = drifting::tensor("fc1.weight", TensorRole::parameter, 1e-4);
  const Trace* orders[][3] = {{&near, &far, &bent}, {&bent, &far, &near}, {&far, &bent, &near}};
  for (const auto& members : orders) {
    const Envelope envelope = envelope_of(members, base, "s");
    CHECK(envelope.members == 3);
    REQUIRE(envelope.points.size() == drifting::kSteps);
    for (std::size_t i = 0; i + 1 < drifting::kSteps; ++i) {
      CHECK(envelope.points[i].step == static_cast<std::int64_t>(i) + 1);
      CHECK(envelope.points[i].distance_rel == Approx(2e-6 * static_cast<double>(i + 1)));
    }
    CHECK(envelope.points.back().distance_rel == Approx(1e-4));
    CHECK_FALSE(envelope.horizon_step);
  }
  const Trace* both[] = {&near, &far};
  CHECK(judge_trajectory(drifting::run(5.9e-6), base, envelope_of(both, base, "s")).word == "within");
  CHECK(judge_trajectory(drifting::run(5.9e-6), base, envelope_of(std::span(both).first(1), base, "s")).word ==
        "outside");
}

TEST_CASE("the horizon is the earliest of any member's", "[trajectory]") {
  const Trace base = drifting::run(0);
  const Trace early = drifting::run(1e-6, 4);
  const Trace late = drifting::run(1e-6, 7);
  const Trace* orders[][2] = {{&early, &late}, {&late, &early}};
  for (const auto& members : orders) {
    const Envelope envelope = envelope_of(members, base, "s");
    CHECK(envelope.horizon_step == 3);
    CHECK(envelope.horizon_reason == "mask `relu_active` flips at step 4");
  }
}

TEST_CASE("a bound is three times the furthest member and the roundings of as many steps", "[trajectory]") {
  const auto judged = judge_trajectory(drifting::run(0), drifting::run(0), drifting::envelope(1e-6));
  REQUIRE(judged.points.size() == drifting::kSteps);
  CHECK(*judged.points[0].bound_rel == Approx(3e-6 + 4 * 0x1p-24));
  CHECK(*judged.points[8].bound_rel == Approx(27e-6 + 12 * 0x1p-24));
  CHECK(judged.word == "within");
  CHECK(judged.members == 1);
}

TEST_CASE("an envelope of another workload judges nothing", "[trajectory]") {
  Envelope other = drifting::envelope(1e-6);
  other.workload_digest = std::string(32, 'b');
  CHECK(judge_trajectory(drifting::run(0), drifting::run(0), other).word == "not_judged");
  Trace elsewhere = drifting::run(0);
  elsewhere.header.workload_digest = std::string(32, 'b');
  CHECK(judge_trajectory(elsewhere, drifting::run(0), drifting::envelope(1e-6)).word == "not_judged");
  elsewhere.header.workload_digest = std::string(32, '0');  // that sorts before it
  CHECK(judge_trajectory(elsewhere, drifting::run(0), drifting::envelope(1e-6)).word == "not_judged");
  CHECK(judge_trajectory(drifting::run(0), elsewhere, drifting::envelope(1e-6)).word == "not_judged");
  CHECK_THROWS_AS(envelope_of({}, drifting::run(0), "s"), ContractError);
}

TEST_CASE("an envelope survives its document", "[trajectory]") {
  const Envelope read = envelope_from_json(to_json(drifting::envelope(1e-6, 4)));
  CHECK(read.members == 1);
  CHECK(read.horizon_step == 3);
  CHECK(read.points.size() == drifting::kSteps);
  auto broken = to_json(drifting::envelope(1e-6));
  broken.erase("members");
  CHECK_THROWS_AS(envelope_from_json(broken), ContractError);
}

}  // namespace
}  // namespace reprobench

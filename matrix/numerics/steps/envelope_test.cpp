// What ends an envelope and what a judgement against it says, sentence by sentence.
#include <cmath>
#include <limits>

#include "ci/catch.hpp"
#include "matrix/numerics/steps/trajectory.hpp"

namespace reprobench {
namespace {

constexpr int kUpdates = 6;

TensorRecord sketched(const std::string& name, TensorRole role, double sum) {
  TensorRecord record{name, role, "float32", {4}, std::to_string(sum), TensorSketch{}};
  record.sketch->l2 = 1;
  record.sketch->signed_sums[0] = sum;
  return record;
}

// A weight that after `t` updates is t * drift away; a mask that flips from step `mask` on, a choice from `choice` on.
struct Scene {
  double drift = 0;
  int mask = 0;
  int choice = 0;

  Trace trace() const {
    Trace trace;
    trace.header.workload_digest = "w";
    for (int step = 1; step <= kUpdates + 1; ++step) {
      TensorsRecord record;
      record.step = step;
      const auto event = [&](const char* name, TensorRole role, int first) {
        record.tensors.push_back(sketched(name, role, first > 0 && step >= first ? 3 : 2));
      };
      record.tensors.push_back(sketched("w", TensorRole::parameter, 1 + drift * (step - 1)));
      event("argmax", TensorRole::choice, choice);
      event("relu", TensorRole::mask, mask);
      trace.tensors.push_back(record);
    }
    return trace;
  }
};

Envelope envelope_of_one(const Scene& scene) {
  const Trace base = Scene{}.trace();
  const Trace member = scene.trace();
  const Trace* members[] = {&member};
  return envelope_of(members, base, "torch-2.8.0-cu128");
}

TrajectoryJudgement judged(const Scene& measured, const Envelope& envelope) {
  return judge_trajectory(measured.trace(), Scene{}.trace(), envelope);
}

TEST_CASE("an envelope says of which stack and workload it is", "[trajectory]") {
  const Envelope envelope = envelope_of_one({1e-6});
  CHECK(envelope.stack == "torch-2.8.0-cu128");
  CHECK(envelope.workload_digest == "w");
  CHECK_FALSE(envelope.horizon_step);
  CHECK(envelope.horizon_reason.empty());
}

TEST_CASE("a choice that flips ends no envelope, and hides no mask that flips after it", "[trajectory]") {
  CHECK_FALSE(envelope_of_one({.drift = 1e-6, .choice = 2}).horizon_step);
  const Envelope both = envelope_of_one({.drift = 1e-6, .mask = 4, .choice = 2});
  CHECK(both.horizon_step == 3);
  CHECK(both.horizon_reason == "mask `relu` flips at step 4");
  CHECK_FALSE(judged({.drift = 1e-6, .choice = 2}, envelope_of_one({1e-6})).horizon_step);
  CHECK_FALSE(judged({.drift = 1e-6, .mask = 5, .choice = 2}, envelope_of_one({1e-6})).horizon_step);
}

TEST_CASE("an envelope ends before a member is 1e-3 away, and says how far that is", "[trajectory]") {
  const Envelope far = envelope_of_one({3e-4});
  CHECK(far.horizon_step == 3);
  CHECK(far.horizon_reason == "a member is 0.0012 away after step 4");
  // Of two reasons at one step the first that was found stays.
  CHECK(envelope_of_one({.drift = 3e-4, .mask = 4}).horizon_reason == "mask `relu` flips at step 4");
  CHECK(envelope_of_one({.drift = 3e-4, .mask = 5}).horizon_reason == "a member is 0.0012 away after step 4");
}

TEST_CASE("a judgement within the envelope says how far it reaches", "[trajectory]") {
  const auto whole = judged({1e-6}, envelope_of_one({1e-6}));
  CHECK(whole.word == "within");
  CHECK(whole.sentence ==
        "no further apart than three times the furthest of 1 runs with one weight moved by 1 ulp, over the whole run");
  CHECK_FALSE(whole.horizon_step);
  const auto part = judged({1e-6}, envelope_of_one({.drift = 1e-6, .mask = 4}));
  CHECK(part.word == "within");
  CHECK(part.horizon_step == 3);
  CHECK(part.sentence ==
        "no further apart than three times the furthest of 1 runs with one weight moved by 1 ulp, up to step 3, where "
        "the horizon is: mask `relu` flips at step 4; than 10 times after it");
  const auto by_itself = judged({.drift = 1e-6, .mask = 3}, envelope_of_one({.drift = 1e-6, .mask = 4}));
  CHECK(by_itself.horizon_step == 3);
  CHECK(by_itself.word == "within");
  const auto later = judged({.drift = 1e-6, .mask = 5}, envelope_of_one({.drift = 1e-6, .mask = 4}));
  CHECK(later.horizon_step == 3);
}

TEST_CASE("a judgement outside the envelope names the first step that is", "[trajectory]") {
  const auto outside = judged({2e-4}, envelope_of_one({1e-6}));
  CHECK(outside.sentence ==
        "after 1 steps the parameters are 0.0002 apart, more than 1-ulp moves of one weight explain");
  CHECK(outside.horizon_step == std::nullopt);
  CHECK(outside.members == 1);
}

TEST_CASE("what cannot be judged says why", "[trajectory]") {
  Envelope empty = envelope_of_one({1e-6});
  empty.points.clear();
  CHECK(judged({1}, empty).word == "not_judged");
  CHECK(judged({1}, empty).sentence == "no step of both runs carries sketches that the ensemble has, too");
  Envelope other = envelope_of_one({1e-6});
  other.workload_digest = "v";
  CHECK(judged({0}, other).sentence == "the envelope is of another workload");
  CHECK(judged({0}, other).members == 1);
  CHECK(judged({0}, other).points.empty());
}

TEST_CASE("a point that no number stands for bounds nothing", "[trajectory]") {
  Envelope envelope = envelope_of_one({1e-6});
  for (const double broken : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    envelope.points.at(2).distance_rel = broken;
    const auto judgement = judged({1e-6}, envelope);
    REQUIRE(judgement.points.size() == kUpdates);
    for (std::size_t i = 0; i < kUpdates; ++i) CHECK(judgement.points[i].bound_rel.has_value() == (i != 2));
    CHECK(judgement.word == "within");
  }
}

TEST_CASE("a judgement tells how the distance grows", "[trajectory]") {
  const auto judgement = judged({1e-6}, envelope_of_one({1e-6}));
  REQUIRE(judgement.growth);
  CHECK(judgement.growth->alpha == Approx(1));  // in proportion to the step
  CHECK_FALSE(judged({0}, envelope_of_one({1e-6})).growth);
  REQUIRE(judgement.points.size() == kUpdates);
  CHECK(judgement.points[3].step == 4);
  CHECK(judgement.points[3].distance_rel == Approx(4e-6));
}

}  // namespace
}  // namespace reprobench

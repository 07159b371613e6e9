#include "matrix/numerics/steps/trajectory.hpp"

#include <cmath>
#include <limits>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/numerics/steps/discrete_events.hpp"
#include "matrix/numerics/steps/divergence_strip.hpp"
#include "matrix/numerics/steps/loss_equivalence.hpp"
#include "matrix/numerics/steps/tensor_distance.hpp"

namespace reprobench {
namespace {

constexpr int kSteps = 10;

TensorRecord tensor(const std::string& name, TensorRole role, double moved) {
  TensorRecord record{name, role, "float32", {4}, hex64(static_cast<std::uint64_t>(std::llround(moved * 1e12))), {}};
  record.sketch = TensorSketch{};
  record.sketch->l2 = 1;
  record.sketch->signed_sums[0] = 1 + moved;
  return record;
}

TensorRecord mask(int active) {
  TensorRecord record{"relu_active", TensorRole::mask, "bool", {64}, hex64(static_cast<std::uint64_t>(active)), {}};
  record.sketch = TensorSketch{};
  for (int i = 0; i < active; ++i) record.sketch->signed_sums[static_cast<std::size_t>(i)] = 1;
  return record;
}

// A run whose parameters are `drift` * step away from where the plain one has them; from step `flip` on one more unit
// is active, and with it the loss is `jump` higher.
Trace run(double drift, int flip = 0, double jump = 0) {
  Trace trace;
  trace.header.workload_digest = std::string(32, 'a');
  for (int step = 1; step <= kSteps; ++step) {
    const bool flipped = flip > 0 && step >= flip;
    TensorsRecord tensors;
    tensors.step = step;
    tensors.tensors = {tensor("fc1.weight", TensorRole::parameter, drift * (step - 1)),
                       tensor("fc1", TensorRole::forward_output, drift * (step - 1)), mask(flipped ? 3 : 2),
                       tensor("fc1.weight", TensorRole::parameter_gradient, drift * step)};
    trace.tensors.push_back(tensors);
    StepRecord record;
    record.step = step;
    record.loss = exact_float(1.0 + drift * step + (flipped ? jump : 0));
    trace.steps.push_back(record);
  }
  TensorsRecord last;
  last.step = kSteps;
  last.is_final = true;
  last.tensors = {tensor("fc1.weight", TensorRole::parameter, drift * kSteps)};
  trace.tensors.push_back(last);
  return trace;
}

Envelope envelope(double drift, int flip = 0) {
  const Trace base = run(0);
  const Trace member = run(drift, flip);
  const Trace* members[] = {&member};
  return envelope_of(members, base, "torch-2.8.0-cu128");
}

TEST_CASE("a trajectory holds the distance of the parameters after each update", "[trajectory]") {
  const auto points = trajectory(run(1e-6), run(0));
  REQUIRE(points.size() == kSteps);
  CHECK(points.front().step == 1);
  CHECK(points.back().step == kSteps);
  CHECK(points.back().distance_rel == Approx(1e-5));
}

TEST_CASE("the points of an envelope stand by step, whichever member has them", "[trajectory]") {
  const Trace base = run(0);
  Trace sparse = run(1e-6);
  sparse.tensors.erase(sparse.tensors.begin() + 2, sparse.tensors.begin() + 5);
  const Trace full = run(1e-6);
  const Trace* members[] = {&sparse, &full};
  const Envelope envelope = envelope_of(members, base, "torch-2.8.0-cu128");
  REQUIRE(envelope.points.size() == kSteps);
  for (std::size_t i = 0; i < envelope.points.size(); ++i) {
    CHECK(envelope.points[i].step == static_cast<std::int64_t>(i) + 1);
  }
}

TEST_CASE("three times the furthest member is within, more is outside", "[trajectory]") {
  CHECK(judge_trajectory(run(2.9e-6), run(0), envelope(1e-6)).word == "within");
  const auto outside = judge_trajectory(run(1e-4), run(0), envelope(1e-6));
  CHECK(outside.word == "outside");
  CHECK(outside.sentence.find("after 1 steps") != std::string::npos);
}

TEST_CASE("a distance that is not a number is outside", "[trajectory]") {
  Trace spoilt = run(0);
  spoilt.tensors[4].tensors.front().sketch->nan_count = 1;
  CHECK(judge_trajectory(spoilt, run(0), envelope(1e-6)).word == "outside");
}

TEST_CASE("a run that lacks a parameter's sketch is not judged, unless it is outside", "[trajectory]") {
  Trace gap = run(1e-6);
  const std::size_t at = GENERATE(1, 5, 10);  // the first update, one between, the final state
  SECTION("the sketch") { gap.tensors[at].tensors.front().sketch.reset(); }
  SECTION("a tensor more") { gap.tensors[at].tensors.push_back(tensor("fc2", TensorRole::parameter, 0)); }
  SECTION("the whole record") { gap.tensors.erase(gap.tensors.begin() + static_cast<std::ptrdiff_t>(at)); }
  const auto judged = judge_trajectory(gap, run(0), envelope(1e-6));
  CHECK(judged.word == "not_judged");
  CHECK(judged.sentence == "after " + std::to_string(at) + " steps one of the runs lacks the sketch of a parameter");
  CHECK(judge_trajectory(run(0), gap, envelope(1e-6)).word == "not_judged");
  CHECK(judge_trajectory(gap, run(0), envelope(1e-6, 2)).word == "not_judged");
  for (TensorsRecord& record : gap.tensors) {
    if (record.step == 3) record.tensors.front() = tensor("fc1.weight", TensorRole::parameter, 1e-3);
  }
  CHECK(judge_trajectory(gap, run(0), envelope(1e-6)).word == "outside");
}

TEST_CASE("beyond the horizon ten times the furthest member is within", "[trajectory]") {
  const Envelope flipping = envelope(1e-6, 4);
  CHECK(flipping.horizon_step == 3);
  const auto judged = judge_trajectory(run(1e-6), run(0), flipping);
  CHECK(judged.word == "within");
  CHECK(*judged.points.at(2).bound_rel == Approx(9e-6 + 4 * 0x1p-24 * std::sqrt(3)));
  CHECK(*judged.points.at(3).bound_rel == Approx(40e-6 + 8 * 0x1p-24));
  CHECK(judge_trajectory(run(2.9e-6), run(0), flipping).word == "within");
  Trace late = run(2.9e-6);
  for (TensorsRecord& record : late.tensors) {
    if (record.step == 7) record.tensors.front() = tensor("fc1.weight", TensorRole::parameter, 59e-6);
  }
  CHECK(judge_trajectory(late, run(0), flipping).word == "within");
  for (TensorsRecord& record : late.tensors) {
    if (record.step == 7) record.tensors.front() = tensor("fc1.weight", TensorRole::parameter, 62e-6);
  }
  const auto outside = judge_trajectory(late, run(0), flipping);
  CHECK(outside.word == "outside");
  CHECK(outside.sentence.starts_with("after 6 steps the parameters are 6.2e-05 apart"));
  CHECK(judge_trajectory(run(1), run(0), envelope(1e-6, 1)).word == "outside");
}

TEST_CASE("an ensemble that is 1e-3 away has reached its horizon", "[trajectory]") {
  CHECK(envelope(3e-4).horizon_step == 3);
}

TEST_CASE("a mask that flips between the two runs alone excuses no distance", "[trajectory]") {
  const auto judged = judge_trajectory(run(1, 1), run(0), envelope(1e-6));
  CHECK(judged.word == "not_judged");
  CHECK(judged.sentence ==
        "after 1 steps the parameters are 1 apart, more than 1-ulp moves of one weight explain; a mask flips at step 1 "
        "between the two runs, before any of the ensemble does, which may have made it");
  CHECK(judge_trajectory(run(1e-6, 1), run(0), envelope(1e-6)).word == "within");
  // The distance came first, or the ensemble's own mask did.
  CHECK(judge_trajectory(run(1, 2), run(0), envelope(1e-6)).word == "outside");
  CHECK(judge_trajectory(run(1, 1), run(0), envelope(1e-6, 1)).word == "outside");
}

TEST_CASE("where steps are forgotten no first flip is told, and no trajectory judged", "[trajectory]") {
  Trace ours = run(1e-6, 6);
  Trace theirs = run(0);
  REQUIRE(event_flips(ours, theirs).size() == 1);
  REQUIRE(judge_trajectory(run(1e-6), run(0), envelope(1e-6)).word == "within");
  const bool is_ours = GENERATE(true, false);
  (is_ours ? ours : theirs).header.level = TraceLevel::recent;
  CHECK(event_flips(ours, theirs).empty());
  ours = run(1e-6);
  ours.header.level = is_ours ? TraceLevel::recent : TraceLevel::tensor;
  const auto judged = judge_trajectory(ours, theirs, envelope(1e-6));
  CHECK(judged.word == "not_judged");
  CHECK(judged.sentence.find("`trace: tensor`") != std::string::npos);
  CHECK(judged.points.empty());
}

TEST_CASE("an envelope is the furthest of all its members at every step, whatever their order", "[trajectory]") {
  const Trace base = run(0);
  const Trace near = run(1e-6);
  const Trace far = run(2e-6);
  Trace bent = run(0.5e-6);  // nearest everywhere but at the end
  bent.tensors.back().tensors.front() = tensor("fc1.weight", TensorRole::parameter, 1e-4);
  const Trace* orders[][3] = {{&near, &far, &bent}, {&bent, &far, &near}, {&far, &bent, &near}};
  for (const auto& members : orders) {
    const Envelope envelope = envelope_of(members, base, "s");
    CHECK(envelope.members == 3);
    REQUIRE(envelope.points.size() == kSteps);
    for (std::size_t i = 0; i + 1 < kSteps; ++i) {
      CHECK(envelope.points[i].step == static_cast<std::int64_t>(i) + 1);
      CHECK(envelope.points[i].distance_rel == Approx(2e-6 * static_cast<double>(i + 1)));
    }
    CHECK(envelope.points.back().distance_rel == Approx(1e-4));
    CHECK_FALSE(envelope.horizon_step);
  }
  const Trace* both[] = {&near, &far};
  CHECK(judge_trajectory(run(5.9e-6), base, envelope_of(both, base, "s")).word == "within");
  CHECK(judge_trajectory(run(5.9e-6), base, envelope_of(std::span(both).first(1), base, "s")).word == "outside");
}

TEST_CASE("the horizon is the earliest of any member's", "[trajectory]") {
  const Trace base = run(0);
  const Trace early = run(1e-6, 4);
  const Trace late = run(1e-6, 7);
  const Trace* orders[][2] = {{&early, &late}, {&late, &early}};
  for (const auto& members : orders) {
    const Envelope envelope = envelope_of(members, base, "s");
    CHECK(envelope.horizon_step == 3);
    CHECK(envelope.horizon_reason == "mask `relu_active` flips at step 4");
  }
}

TEST_CASE("a bound is three times the furthest member and the roundings of as many steps", "[trajectory]") {
  const auto judged = judge_trajectory(run(0), run(0), envelope(1e-6));
  REQUIRE(judged.points.size() == kSteps);
  CHECK(*judged.points[0].bound_rel == Approx(3e-6 + 4 * 0x1p-24));
  CHECK(*judged.points[8].bound_rel == Approx(27e-6 + 12 * 0x1p-24));
  CHECK(judged.word == "within");
  CHECK(judged.members == 1);
}

TEST_CASE("an envelope of another workload judges nothing", "[trajectory]") {
  Envelope other = envelope(1e-6);
  other.workload_digest = std::string(32, 'b');
  CHECK(judge_trajectory(run(0), run(0), other).word == "not_judged");
  Trace elsewhere = run(0);
  elsewhere.header.workload_digest = std::string(32, 'b');
  CHECK(judge_trajectory(elsewhere, run(0), envelope(1e-6)).word == "not_judged");
  elsewhere.header.workload_digest = std::string(32, '0');  // that sorts before it
  CHECK(judge_trajectory(elsewhere, run(0), envelope(1e-6)).word == "not_judged");
  CHECK(judge_trajectory(run(0), elsewhere, envelope(1e-6)).word == "not_judged");
  CHECK_THROWS_AS(envelope_of({}, run(0), "s"), ContractError);
}

TEST_CASE("an envelope survives its document", "[trajectory]") {
  const Envelope read = envelope_from_json(to_json(envelope(1e-6, 4)));
  CHECK(read.members == 1);
  CHECK(read.horizon_step == 3);
  CHECK(read.points.size() == kSteps);
  auto broken = to_json(envelope(1e-6));
  broken.erase("members");
  CHECK_THROWS_AS(envelope_from_json(broken), ContractError);
}

TEST_CASE("flips are counted from the first step that has one", "[events]") {
  const auto flips = event_flips(run(0, 6), run(0));
  REQUIRE(flips.size() == 1);
  CHECK(flips.front().event == "relu_active");
  CHECK(flips.front().first_step == 6);
  CHECK(flips.front().flips == 1);
  CHECK(flips.front().steps_with_flips == 5);
  CHECK(event_flips(run(1e-3), run(0)).empty());
}

TEST_CASE("a flip that the sketches do not show is one all the same, since the digests do", "[events]") {
  Trace ours = run(0);
  const Trace theirs = run(0);
  ours.tensors[3].tensors[2].digest = "other";
  const auto flips = event_flips(ours, theirs);
  REQUIRE(flips.size() == 1);
  CHECK(flips[0].first_step == 4);
  CHECK(flips[0].flips == 1);
  CHECK(flips[0].steps_with_flips == 1);
}

TEST_CASE("a loss that splits names the mask that flipped there", "[events]") {
  const auto split = loss_split(run(1e-7, 6, 0.01), run(0));
  REQUIRE(split);
  CHECK(split->step == 6);
  CHECK(split->event == "relu_active");
  CHECK_FALSE(loss_split(run(1e-7), run(0)));
  // A flip in the step before shows in the weights, and so in this loss; one before that does not.
  for (const std::size_t flipped : {5, 4}) {
    Trace later = run(1e-7);
    later.tensors[flipped].tensors[2] = mask(3);
    for (std::size_t i = 6; i < later.steps.size(); ++i) later.steps[i].loss = exact_float(1.01);
    REQUIRE(loss_split(later, run(0)));
    CHECK(loss_split(later, run(0))->step == 7);
    CHECK(loss_split(later, run(0))->event == (flipped == 5 ? "relu_active" : ""));
  }
}

TEST_CASE("the first tensor further away than rounding takes it is named", "[distance]") {
  const auto over = first_over_bound(run(1e-4), run(0), "fp32");
  REQUIRE(over);
  CHECK(over->step == 1);
  CHECK(over->role == TensorRole::parameter_gradient);
  CHECK(over->tensor == "fc1.weight");
  CHECK_FALSE(first_over_bound(run(1e-9), run(0), "fp32"));
  CHECK_FALSE(first_over_bound(run(1e-4), run(0), "bf16"));
  CHECK_THROWS_AS(first_over_bound(run(0), run(0), "fp3"), ContractError);
}

TEST_CASE("a strip marks the first role that differs in each module and step", "[strip]") {
  const auto strip = divergence_strip(run(1e-6), run(0), 1);
  REQUIRE(strip.steps.size() == kSteps);
  REQUIRE(strip.rows.size() == 2);
  CHECK(strip.rows[0].module == "fc1");
  CHECK(strip.rows[0].marks == "dppppppppp");
  CHECK(strip.rows[1].module == "relu_active");
  CHECK(strip.rows[1].marks == std::string(kSteps, '.'));
  CHECK(divergence_strip(run(0, 6), run(0), 6).rows[1].marks == ".....mmmmm");
}

TEST_CASE("a strip's rows are modules in the order of what they make, each marked by what parts there first",
          "[trajectory]") {
  const auto step_of = [](const std::string& bits) {
    Trace trace;
    trace.tensors.push_back({1, false, {}});
    for (const auto& [name, role] : std::vector<std::pair<std::string, TensorRole>>{
             {"head.weight", TensorRole::parameter},
             {"bn.running_mean", TensorRole::buffer},
             {"fc", TensorRole::forward_output},
             {"head", TensorRole::forward_output},
             {"head.weight", TensorRole::parameter_gradient},
             {"fc.bias.exp_avg", TensorRole::optimizer_state},
         }) {
      trace.tensors[0].tensors.push_back({name, role, "float32", {1}, bits + name, std::nullopt});
    }
    return trace;
  };
  Trace ours = step_of("same ");
  const auto rows = [&] {
    std::vector<std::string> told;
    for (const StripRow& row : divergence_strip(ours, step_of("same "), 1).rows) told.push_back(row.module + row.marks);
    return told;
  };
  CHECK(rows() == std::vector<std::string>{"bn.", "fc.", "head."});
  ours.tensors[0].tensors[5].digest = "other";
  CHECK(rows() == std::vector<std::string>{"bn.", "fcs", "head."});
  ours = step_of("other ");
  CHECK(rows() == std::vector<std::string>{"bnb", "fcf", "headp"});
}

TEST_CASE("loss curves of seeds are equivalent only where that is shown", "[equivalence]") {
  const Trace a = run(0);
  const Trace b = run(1e-6);
  const Trace c = run(1e-2);
  const Trace* expected[] = {&a, &b, &a, &b, &a};
  const Trace* near[] = {&b, &a, &b, &b, &a};
  const Trace* far[] = {&c, &c, &c, &c, &c};
  const auto same = loss_equivalence(near, expected);
  CHECK(same.equivalent);
  CHECK(same.windows.size() == 5);
  CHECK_FALSE(loss_equivalence(far, expected).equivalent);
  const auto one = loss_equivalence(std::span(near, 1), std::span(expected, 1));
  CHECK_FALSE(one.equivalent);
  CHECK(one.sentence.find("at least 2 seeds") != std::string::npos);
}

// A run of `steps` steps with one loss.
Trace flat(int steps, double loss) {
  Trace trace;
  for (int step = 1; step <= steps; ++step) {
    StepRecord record;
    record.step = step;
    record.loss = exact_float(loss);
    trace.steps.push_back(record);
  }
  return trace;
}

TEST_CASE("windows are of 50 steps, or a quarter of a shorter run, and what is left is left out", "[equivalence]") {
  const auto windows_of = [](int steps) {
    const Trace a = flat(steps, 2.0);
    const Trace b = flat(steps, 2.001);
    const Trace* ours[] = {&a, &b};
    const Trace* theirs[] = {&b, &a};
    return loss_equivalence(ours, theirs);
  };
  const LossEquivalence longer = windows_of(230);
  REQUIRE(longer.windows.size() == 4);
  CHECK(longer.windows[0].first_step == 1);
  CHECK(longer.windows[0].last_step == 50);
  CHECK(longer.windows[3].first_step == 151);
  CHECK(longer.windows[3].last_step == 200);
  CHECK(longer.seeds == 2);
  CHECK(windows_of(400).windows.size() == 8);
  CHECK(windows_of(9).windows.size() == 4);  // of 2 steps
  CHECK(windows_of(4).windows.size() == 4);
  const LossEquivalence short_run = windows_of(3);
  CHECK_FALSE(short_run.equivalent);
  CHECK(short_run.windows.empty());
  CHECK(short_run.sentence == "not tested: 3 steps are too few for four windows");
}

TEST_CASE("a window holds the mean of its steps", "[equivalence]") {
  Trace a = flat(8, 1.0);
  a.steps[2].loss = exact_float(1.5);
  const Trace b = flat(8, 1.0);
  const Trace* ours[] = {&a, &a};
  const Trace* theirs[] = {&b, &b};
  const LossEquivalence result = loss_equivalence(ours, theirs, 0.5);
  REQUIRE(result.windows.size() == 4);
  CHECK(result.windows[0].result.difference == 0);
  CHECK(result.windows[1].result.difference == 0.25);
  CHECK(result.windows[1].result.margin == 0.5);
  CHECK(result.equivalent);
  CHECK(result.sentence == "loss curves of 2 seeds are equivalent within 50 %: the widest interval reaches 25 %");
  const LossEquivalence closer = loss_equivalence(ours, theirs, 0.2);
  CHECK_FALSE(closer.equivalent);
  CHECK(closer.sentence ==
        "loss curves of 2 seeds are not shown to be equivalent within 20 %: the widest interval reaches 25 %");
  // The other way round -0.25 is a fifth of 1.25.
  CHECK(loss_equivalence(theirs, ours, 0.5).sentence ==
        "loss curves of 2 seeds are equivalent within 50 %: the widest interval reaches 20 %");
}

TEST_CASE("a loss that is missing, or sides of unequal seeds, are not tested", "[equivalence]") {
  Trace a = flat(8, 1.0);
  const Trace b = flat(8, 1.0);
  const Trace* ours[] = {&a, &b};
  const Trace* theirs[] = {&b, &b};
  a.steps[7].loss = nullptr;
  const LossEquivalence missing = loss_equivalence(ours, theirs);
  CHECK_FALSE(missing.equivalent);
  CHECK(missing.sentence == "not tested: a loss is missing or not finite");
  CHECK(missing.windows.empty());
  CHECK(loss_equivalence(ours, std::span(theirs).first(1)).sentence ==
        "not tested: the sides have unequal numbers of seeds");
  const LossEquivalence unequal = loss_equivalence(ours, std::span(theirs).first(1), 0.25);
  CHECK(unequal.seeds == 2);
  CHECK(unequal.margin_rel == 0.25);
}

TEST_CASE("a strip begins eight steps before the first that differs and has 64 at most", "[strip]") {
  Trace ours;
  Trace theirs;
  for (int step = 1; step <= 100; ++step) {
    for (Trace* trace : {&ours, &theirs}) {
      TensorsRecord record;
      record.step = step;
      record.tensors = {tensor("fc1.weight", TensorRole::parameter, trace == &ours && step >= 20 ? 1 : 0),
                        tensor("fc1.weight.exp_avg", TensorRole::optimizer_state, trace == &ours && step >= 21 ? 1 : 0),
                        tensor("fc2", TensorRole::forward_output, 0), tensor("fc1", TensorRole::forward_output, 0)};
      trace->tensors.push_back(record);
    }
  }
  const DivergenceStrip strip = divergence_strip(ours, theirs, 20);
  REQUIRE(strip.steps.size() == kStripSteps);
  CHECK(strip.steps.front() == 12);
  CHECK(strip.steps.back() == 75);
  REQUIRE(strip.rows.size() == 2);
  CHECK(strip.rows[0].module == "fc2");  // the order of the outputs
  CHECK(strip.rows[1].module == "fc1");
  CHECK(strip.rows[1].marks.substr(0, 10) == "........pp");
  CHECK(strip.rows[0].marks == std::string(kStripSteps, '.'));
}

TEST_CASE("every role has a mark of its own, masks and choices one", "[strip]") {
  std::string marks;
  for (const TensorRole role :
       {TensorRole::input, TensorRole::parameter, TensorRole::forward_output, TensorRole::mask, TensorRole::choice,
        TensorRole::loss, TensorRole::grad_output, TensorRole::parameter_gradient, TensorRole::optimizer_state,
        TensorRole::buffer, TensorRole::scaler_state}) {
    marks += strip_mark(role);
  }
  CHECK(marks == "ipfmmlgdsbc");
}

TEST_CASE("a choice flips without steering, and the first mask decides", "[events]") {
  Trace ours = run(0, 6);
  Trace theirs = run(0);
  for (Trace* trace : {&ours, &theirs}) {
    for (TensorsRecord& record : trace->tensors) {
      TensorRecord choice = mask(trace == &ours && record.step >= 2 ? 5 : 2);
      choice.name = "argmax";
      choice.role = TensorRole::choice;
      record.tensors.push_back(choice);
    }
  }
  const auto flips = event_flips(ours, theirs);
  REQUIRE(flips.size() == 2);
  CHECK(flips[0].event == "argmax");
  CHECK_FALSE(flips[0].steers);
  CHECK(flips[0].first_step == 2);
  CHECK(flips[0].flips == 3);
  CHECK(flips[1].steers);
  CHECK(first_mask_flip(flips) == 6);
  CHECK_FALSE(first_mask_flip({flips[0]}));
}

TEST_CASE("a loss splits where it jumps tenfold over everything before, and the largest jump is meant", "[events]") {
  const auto split_of = [](const std::vector<double>& distances) {
    const Trace expected = flat(static_cast<int>(distances.size()), 1.0);
    Trace measured = expected;
    for (std::size_t i = 0; i < distances.size(); ++i) measured.steps[i].loss = exact_float(1.0 + distances[i]);
    return loss_split(measured, expected);
  };
  const auto split = split_of({0, 0x1p-20, 0x1p-16, 0x1p-20, 0x1p-8});
  REQUIRE(split);
  CHECK(split->step == 5);
  CHECK(split->distance_rel == 0x1p-8);
  CHECK(split->before_rel == 0x1p-16);
  CHECK(split->event.empty());
  CHECK(split_of({0x1p-20, 0x1p-16, 0x1p-14})->step == 2);
  CHECK(split_of({0x1p-20, 0x1p-12, 0x1p-8})->step == 2);   // of 256 and 16
  CHECK(split_of({0x1p-20, 0x1p-16, 0x1p-12})->step == 3);  // as large: the later one
  CHECK_FALSE(split_of({0, 1, 1, 1}));                      // from nothing to something is no jump
  CHECK_FALSE(split_of({0x1p-20, 0x1p-17}));                // eightfold
  CHECK(split_of({0x1p-20, 10 * 0x1p-20}).has_value());     // tenfold
}

TEST_CASE("a loss that is not finite on either side ends the search for a split", "[events]") {
  const double infinite = std::numeric_limits<double>::infinity();
  const Trace flat_loss = flat(5, 1.0);
  Trace split_late = flat_loss;
  split_late.steps[1].loss = exact_float(1 + 0x1p-20);
  split_late.steps[4].loss = exact_float(1 + 0x1p-8);
  CHECK(loss_split(split_late, flat_loss)->step == 5);
  for (const double value : {infinite, std::nan("")}) {
    Trace broken = split_late;
    broken.steps[2].loss = exact_float(value);
    CHECK_FALSE(loss_split(broken, flat_loss));
    Trace broken_reference = flat_loss;
    broken_reference.steps[2].loss = exact_float(value);
    CHECK_FALSE(loss_split(split_late, broken_reference));
  }
}

}  // namespace
}  // namespace reprobench

// What `calibrate --lockstep` learns, when it refuses to, and which comparisons it holds for.
#include "matrix/inquiry/explain/lockstep_bounds.hpp"

#include <fstream>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/base/usage_error.hpp"
#include "matrix/inquiry/explain/explanation_fixture.hpp"
#include "matrix/inquiry/explain/summation_order.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

using Catch::Matchers::Contains;

const Announce kSilently = [](const std::string&) {};

CellRequest with_threads() {
  CellRequest request = synthetic_request();
  request.knobs["threads"] = "1";
  return request;
}

const std::string kTensor = "gradient/fc1.weight";
using Ratios = std::map<std::string, double>;

const std::vector<Deviation> kOneUlp = {{"forward fc1 aten::addmm", 1, 99, 7}};
const std::vector<Deviation> kThousandth = {{"forward fc1 aten::addmm", 1, 99, -1, times(1.001)}};

// A network that two threads make differ as given; four threads give the bits of one.
struct Scene {
  explicit Scene(std::vector<Deviation> by_two_threads) {
    replays.planted = [=](const CellRequest& request) {
      const bool has_two = request.knobs.contains("threads") && request.knobs.at("threads") == "2";
      return has_two ? by_two_threads : std::vector<Deviation>{};
    };
  }

  LockstepBounds measured() {
    return measure_lockstep_bounds(replays.side("stack-a", with_threads()), nullptr, 16, replays, kSilently);
  }

  // Bounds that hold for stack-a, written where they are looked for. What `threads=2` allows one tensor is given; the
  // rest is measured once.
  LockstepBounds keep(double ratio, std::optional<std::string> against = {}) {
    static const LockstepBounds kMeasured = Scene(kOneUlp).measured();
    LockstepBounds bounds = kMeasured;
    bounds.pairs[0].legitimate_ratios = {{kTensor, ratio}};
    if (against) {
      bounds.pairs.resize(1);
      bounds.pairs[0].what = *against;
      bounds.against = bounds.basis;
      bounds.against->stack = *against;
      for (ComponentVersion& component : bounds.against->components) {
        component.compiled = component.loaded = *against;
      }
    }
    write(to_json(bounds).dump(), bounds);
    return bounds;
  }

  void write(const std::string& text, const LockstepBounds& bounds) {
    const auto file = lockstep_bounds_file(bounds, store());
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  LegitimateRatio asked(const std::string& measured_stack = "stack-b", const std::string& expected_stack = "stack-a") {
    return legitimate_ratio_of(replays.side(measured_stack, with_threads()),
                               replays.side(expected_stack, with_threads()), store());
  }

  // The same of one stack with these threads and with one.
  LegitimateRatio asked_of_threads(int measured_threads, int expected_threads) {
    ComparedSide measured = replays.side("stack-a", with_threads());
    ComparedSide expected = replays.side("stack-a", with_threads());
    measured.attempt.lead().result->fingerprint.threads = measured_threads;
    expected.attempt.lead().result->fingerprint.threads = expected_threads;
    return legitimate_ratio_of(measured, expected, store());
  }

  std::filesystem::path store() const { return replays.folder() / "store"; }

  ScriptedReplays replays;
};

TEST_CASE("settings that only change the order of summation are pairs, from three states and in both directions",
          "[calibrate]") {
  Scene scene(kOneUlp);
  const LockstepBounds bounds = scene.measured();
  CHECK(bounds.refused.empty());
  CHECK(bounds.states == std::vector<std::int64_t>{0, 3, 6});
  REQUIRE(bounds.pairs.size() == 6);
  const CleanPair& two = bounds.pairs[0];
  CHECK(two.what == "threads=2");
  CHECK(two.tensors == 3 * 2 * 8);
  CHECK(two.differing > 0);
  CHECK(two.differing < two.tensors);
  CHECK(two.largest_ratio == Approx(1.0105574743));
  CHECK(two.largest_tensor == "gradient/fc1.bias");
  CHECK(two.legitimate_ratios.empty());
  CHECK(two.problem.empty());
  CHECK(bounds.pairs[1].what == "threads=4");
  CHECK(bounds.pairs[1].differing == 0);
  CHECK(bounds.pairs[1].largest_tensor.empty());
  CHECK(lockstep_bounds_from_json(to_json(bounds)).pairs.size() == 6);
  // Both runs and the exact one take their steps from the state that the base run left.
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& tasks = scene.replays.calls.at(scene.replays.calls.size() - 3 + i);
    REQUIRE(tasks.size() == 8);
    for (const ReplayTask& task : tasks) {
      CHECK(task.request.replay->hold_state);
      CHECK(task.request.replay->first_step == bounds.states[i] + 1);
      CHECK(task.request.replay->last_step == bounds.states[i] + 16);
      CHECK(has(task.request.replay->from_state, snapshot_file(bounds.states[i])));
    }
    CHECK(tasks[1].request.knobs.at("precision") == "fp64");
    CHECK(tasks[2].request.knobs.at("threads") == "2");
  }
}

// A factor in one gradient makes its error larger by as much as is asked: a scale of rounding size.
TEST_CASE("a tensor that lies apart is learned with its own ratio and its uncertainty, the others are not",
          "[calibrate]") {
  Scene scene({{"gradient fc1.weight", 1, 99, -1, times(1 + 0x1.5p-25)}});
  const LockstepBounds bounds = scene.measured();
  CHECK(bounds.refused.empty());
  const CleanPair& two = bounds.pairs[0];
  REQUIRE(two.legitimate_ratios.size() == 1);
  const auto& [tensor, ratio] = *two.legitimate_ratios.begin();
  CHECK(is_complete(bounds));
  CHECK(tensor == kTensor);
  CHECK(tensor == two.largest_tensor);
  CHECK(two.largest_ratio > kLegitimateRatio);
  CHECK(ratio > two.largest_ratio);
  CHECK(ratio < 1.1 * two.largest_ratio);
  CHECK(lockstep_bounds_from_json(to_json(bounds)).pairs[0].legitimate_ratios == two.legitimate_ratios);
}

TEST_CASE("nothing is learned from a pair that is not clean, from equal bits, or from runs that are fp64 themselves",
          "[calibrate]") {
  Scene wrong(kThousandth);
  const LockstepBounds refused = wrong.measured();
  CHECK_THAT(refused.refused,
             Contains("threads=2 lies further apart than an order of summation explains: after step 0: ") &&
                 Contains("show a defect"));
  CHECK_THAT(refused.pairs[0].problem, Contains("show a defect"));
  CHECK(refused.pairs[0].legitimate_ratios.empty());
  CHECK_FALSE(is_complete(refused));
  CHECK_FALSE(is_complete(Scene({}).measured()));
  CHECK(Scene({}).measured().refused == "every pair has equal bits: there is nothing to learn from");
  Scene exact({});
  CellRequest request = with_threads();
  request.knobs["precision"] = "fp64";
  CHECK_THROWS_AS(measure_lockstep_bounds(exact.replays.side("stack-a", request), nullptr, 8, exact.replays, kSilently),
                  UsageError);
}

TEST_CASE("a pair that is not clean is left out, and the others are learned from", "[calibrate]") {
  Scene scene({});
  const std::vector<Deviation> apart = {{"gradient fc1.weight", 1, 99, -1, times(1 + 0x1.5p-25)}};
  scene.replays.planted = [=](const CellRequest& request) {
    const std::string threads = request.knobs.contains("threads") ? request.knobs.at("threads") : "";
    return threads == "2" ? kThousandth : threads == "4" ? apart : std::vector<Deviation>{};
  };
  const LockstepBounds bounds = scene.measured();
  CHECK(bounds.refused.empty());
  CHECK_THAT(bounds.pairs[0].problem, Contains("show a defect"));
  CHECK(bounds.pairs[0].legitimate_ratios.empty());
  CHECK(bounds.pairs[1].problem.empty());
  CHECK_FALSE(is_complete(bounds));
  REQUIRE(bounds.pairs[1].legitimate_ratios.size() == 1);
  scene.write(to_json(bounds).dump(), bounds);
  // What was left out is judged as if nobody had measured it.
  const LegitimateRatio of_two = scene.asked_of_threads(2, 1);
  CHECK_FALSE(of_two.is_learned);
  CHECK(of_two.ratio == kLegitimateRatioOfOrders);
  const LegitimateRatio of_four = scene.asked_of_threads(4, 1);
  CHECK(of_four.is_learned);
  CHECK(of_four.of_tensors == bounds.pairs[1].legitimate_ratios);
}

TEST_CASE("a setting that is wrong by chance is taken again, and only so often", "[calibrate]") {
  const int wrong_processes = GENERATE(1, 99);
  Scene scene({});
  int held = 0;
  scene.replays.planted = [&](const CellRequest& request) {
    const bool has_two = request.knobs.contains("threads") && request.knobs.at("threads") == "2";
    if (!has_two || held == wrong_processes) return has_two ? kOneUlp : std::vector<Deviation>{};
    const double error = 1 + 0.001 * ++held;  // never the same twice
    return std::vector<Deviation>{{"forward fc1 aten::addmm", 1, 99, -1, times(error)}};
  };
  const LockstepBounds bounds = scene.measured();
  const CleanPair& two = bounds.pairs[0];
  CHECK(two.what == "threads=2");
  CHECK(two.problem.empty() == (wrong_processes == 1));
  CHECK(two.unrepeated == (wrong_processes == 1 ? 1 : 3));
  CHECK(bounds.pairs[1].unrepeated == 0);
  CHECK(lockstep_bounds_from_json(to_json(bounds)).pairs[0].unrepeated == two.unrepeated);
  CHECK(two.tensors == 3 * 2 * 8);         // of the process that counts alone
  CHECK(scene.replays.calls_left() == 2);  // the base run, and that with the states
}

TEST_CASE("a setting that is wrong in every process is no chance", "[calibrate]") {
  const LockstepBounds bounds = Scene(kThousandth).measured();
  CHECK(bounds.pairs[0].unrepeated == 0);
}

TEST_CASE("bounds that hold something learned from a pair that was not clean are not used", "[calibrate]") {
  Scene scene(kOneUlp);
  LockstepBounds bounds = scene.keep(1.2);
  CHECK(scene.asked().is_learned);
  bounds.pairs[0].problem = "after step 0: 1 of 8 tensors show a defect";
  scene.write(to_json(bounds).dump(), bounds);
  CHECK_FALSE(scene.asked().is_learned);
  CHECK_THAT(scene.asked().notes.back(), Contains("`threads=2` was not clean, and has something learned"));
}

TEST_CASE("nothing is learned from a pair that cannot be judged", "[calibrate]") {
  const auto spoilt = becomes(std::numeric_limits<double>::infinity());
  Scene scene({});
  // Both runs overflow where the one in fp64 does not.
  scene.replays.planted = [=](const CellRequest& request) {
    const bool is_exact = request.knobs.at("precision") == "fp64";
    return is_exact ? std::vector<Deviation>{} : std::vector<Deviation>{{"gradient fc2.bias", 7, 99, 0, spoilt}};
  };
  const LockstepBounds bounds = scene.measured();
  CHECK_THAT(bounds.refused,
             Contains("threads=2 lies further apart") && Contains(": after step 0: ") && Contains("cannot be judged"));
}

TEST_CASE("another stack that is good is the only pair of a calibration against it", "[calibrate]") {
  Scene scene({});
  scene.replays.stacks["stack-b"] = kOneUlp;
  const ComparedSide base = scene.replays.side("stack-a", with_threads());
  ComparedSide other = scene.replays.side("stack-b", with_threads());
  const auto bounds = measure_lockstep_bounds(base, &other, 8, scene.replays, kSilently);
  REQUIRE(bounds.pairs.size() == 1);
  CHECK(bounds.pairs[0].what == "stack-b");
  CHECK(bounds.pairs[0].differing > 0);
  CHECK(bounds.against->stack == "stack-b");
  CHECK(bounds.refused.empty());
}

TEST_CASE("what a stack learned by itself holds where it is the expected side", "[calibrate]") {
  Scene scene(kOneUlp);
  CHECK(scene.asked().of_tensors.empty());
  CHECK(scene.asked().notes.empty());
  scene.keep(1.15);
  CHECK(scene.asked().ratio == kLegitimateRatio);
  CHECK(scene.asked().of_tensors == Ratios{{kTensor, 1.15}});
  CHECK(scene.asked().from == "`calibrate --lockstep` of stack-a by itself");
  CHECK(scene.asked().notes == std::vector<std::string>{"pooled errors of correct runs may differ by x1.15 in some "
                                                        "tensors: `calibrate --lockstep` of stack-a by itself"});
  CHECK(scene.asked("stack-a", "stack-b").of_tensors.empty());
  CellRequest in_bf16 = with_threads();
  in_bf16.knobs["precision"] = "bf16";
  CHECK(legitimate_ratio_of(scene.replays.side("stack-b", in_bf16), scene.replays.side("stack-a", with_threads()),
                            scene.store())
            .of_tensors.empty());
  CHECK(legitimate_ratio_of(scene.replays.side("stack-b", with_threads()),
                            scene.replays.side("stack-a", with_threads()), {})
            .of_tensors.empty());
}

TEST_CASE(
    "sides that add up alike are allowed what the widest pair showed, others what the pair of their orders showed",
    "[calibrate]") {
  Scene scene(kOneUlp);
  LockstepBounds bounds = scene.keep(1.15);
  bounds.pairs[0].legitimate_ratios["gradient/fc2.bias"] = 1.3;
  bounds.pairs[1].legitimate_ratios = {{kTensor, 1.2}};
  scene.write(to_json(bounds).dump(), bounds);
  CHECK(scene.asked().of_tensors == Ratios{{kTensor, 1.2}, {"gradient/fc2.bias", 1.3}});
  // Two threads, on whichever side, are the first pair; four the second.
  CHECK(scene.asked_of_threads(2, 1).of_tensors == bounds.pairs[0].legitimate_ratios);
  CHECK(scene.asked_of_threads(1, 2).of_tensors == bounds.pairs[0].legitimate_ratios);
  CHECK(scene.asked_of_threads(4, 1).of_tensors == bounds.pairs[1].legitimate_ratios);
  CHECK(scene.asked_of_threads(4, 1).ratio == kLegitimateRatio);
  CHECK(scene.asked_of_threads(4, 1).is_learned);
  // Three were not measured: any order of as many terms is right.
  const LegitimateRatio of_three = scene.asked_of_threads(3, 1);
  CHECK(of_three.of_tensors.empty());
  CHECK_FALSE(of_three.is_learned);
  CHECK(of_three.ratio == kLegitimateRatioOfOrders);
  CHECK(of_three.summed_terms.at(kTensor) > 1);
  CHECK(of_three.from == "orders of summation: 3 against 1 threads");
  // Nor were two against four: neither is what was measured around.
  const LegitimateRatio of_two_and_four = scene.asked_of_threads(2, 4);
  CHECK(of_two_and_four.ratio == kLegitimateRatioOfOrders);
  CHECK(of_two_and_four.notes.size() == 2);
}

TEST_CASE("what two stacks learned holds for them in either direction, before what one learned by itself",
          "[calibrate]") {
  Scene scene(kOneUlp);
  scene.keep(1.15);
  scene.keep(1.1, "stack-b");
  CHECK(scene.asked().of_tensors == Ratios{{kTensor, 1.1}});
  CHECK(scene.asked("stack-a", "stack-b").of_tensors == Ratios{{kTensor, 1.1}});
  CHECK(scene.asked("stack-a", "stack-b").from == "`calibrate --lockstep` of stack-a and stack-b");
  CHECK(scene.asked("stack-c").of_tensors == Ratios{{kTensor, 1.15}});
}

TEST_CASE("bounds on file are not used where anything is another, and that is said", "[calibrate]") {
  Scene scene(kOneUlp);
  LockstepBounds bounds = scene.keep(1.15);
  std::string said = "stack-a is not what it was then";
  SECTION("a component") { bounds.basis.components[0].loaded = "2.9.1"; }
  SECTION("the processor") { bounds.basis.cpu_model = "another"; }
  SECTION("its instructions") { bounds.basis.cpu_capability = "AVX2"; }
  SECTION("the library of matrix products") { bounds.basis.blas_provider = "openblas"; }
  SECTION("how it adds up") { bounds.basis.summation_order = "threads: 2"; }
  SECTION("refused when they were measured") { said = bounds.refused = "threads=2 lies too far apart to learn from"; }
  const auto spoilt = [&](double ratio, const std::string& text) {
    bounds.pairs[0].legitimate_ratios[kTensor] = ratio;
    said = fmt::format("x{} of `{}` is none that is measured", text, kTensor);
  };
  SECTION("a bound beyond what any order explains") { spoilt(99, "99"); }
  SECTION("a narrower bound than without") { spoilt(1.04, "1.04"); }
  SECTION("no number") { spoilt(std::numeric_limits<double>::quiet_NaN(), "nan"); }
  SECTION("a setting that is none of those that are tried") {
    bounds.pairs[0].what = "threads=1000";
    said = "`threads=1000` is no pair of this stack";
  }
  scene.write(to_json(bounds).dump(), bounds);
  CHECK(scene.asked().ratio == kLegitimateRatio);
  CHECK(scene.asked().of_tensors.empty());
  CHECK(scene.asked().from.empty());
  CHECK(scene.asked().notes ==
        std::vector<std::string>{"bounds that `calibrate --lockstep` kept of stack-a by itself are not used: " + said});
}

TEST_CASE("a file of bounds that is cut or of another schema is not used, and that is said", "[calibrate]") {
  Scene scene(kOneUlp);
  const LockstepBounds bounds = scene.keep(1.15);
  const auto [text, said] = GENERATE(table<std::string, std::string>(
      {{"{\"schema\": ", "is not JSON"}, {"{\"schema\": \"reprobench/plan\"}", "lockstep_bounds"}}));
  scene.write(text, bounds);
  CHECK(scene.asked().of_tensors.empty());
  REQUIRE(scene.asked().notes.size() == 1);
  CHECK_THAT(scene.asked().notes[0], Contains("are not used") && Contains(said));
}

TEST_CASE("bounds of a pair hold no longer once the other stack is another", "[calibrate]") {
  Scene scene(kOneUlp);
  LockstepBounds bounds = scene.keep(1.1, "stack-b");
  bounds.against->components[0].loaded = "2.9.1";
  scene.write(to_json(bounds).dump(), bounds);
  CHECK(scene.asked().of_tensors.empty());
  REQUIRE(scene.asked().notes.size() == 1);
  CHECK_THAT(scene.asked().notes[0], Contains("of stack-a and stack-b are not used: stack-b is not what it was then"));
}

TEST_CASE("between libraries of matrix products only bounds of that very pair hold", "[calibrate]") {
  Scene scene(kOneUlp);
  scene.keep(1.15);
  const ComparedSide expected = scene.replays.side("stack-a", with_threads());
  ComparedSide measured = scene.replays.side("stack-b", with_threads());
  measured.attempt.lead().result->fingerprint.blas_provider = "openblas";
  const LegitimateRatio usual = legitimate_ratio_of(measured, expected, scene.store());
  CHECK(usual.ratio == kLegitimateRatioOfOrders);
  CHECK(usual.of_tensors.empty());
  REQUIRE(usual.notes.size() == 1);
  CHECK_THAT(usual.notes[0], Contains("openblas against") && Contains("an error that such an order may leave"));
  LockstepBounds pair = scene.keep(1.4, "stack-b");
  pair.against->blas_provider = "openblas";
  pair.against->summation_order = to_text(
      summation_order_of(measured.attempt.lead().result->fingerprint, measured.attempt.lead().result->knobs_resolved));
  scene.write(to_json(pair).dump(), pair);
  const LegitimateRatio learned = legitimate_ratio_of(measured, expected, scene.store());
  CHECK(learned.ratio == kLegitimateRatio);
  CHECK(learned.of_tensors == Ratios{{kTensor, 1.4}});
  pair.pairs[0].legitimate_ratios[kTensor] = 99;
  scene.write(to_json(pair).dump(), pair);
  const LegitimateRatio edited = legitimate_ratio_of(measured, expected, scene.store());
  CHECK(edited.ratio == kLegitimateRatioOfOrders);
  REQUIRE(edited.notes.size() == 2);
  CHECK_THAT(edited.notes[1], Contains("x99 of `" + kTensor + "` is none that is measured"));
}

TEST_CASE("other operators are another order, of which no calibration tells", "[calibrate]") {
  Scene scene(kOneUlp);
  scene.keep(1.15);
  const ComparedSide expected = scene.replays.side("stack-a", with_threads());
  const ComparedSide measured = scene.replays.side("stack-b", with_threads());
  CHECK(legitimate_ratio_of(measured, expected, scene.store()).is_learned);
  const LegitimateRatio others = legitimate_ratio_of(measured, expected, scene.store(), Operators::others);
  CHECK(others.ratio == kLegitimateRatioOfOrders);
  CHECK_FALSE(others.is_learned);
  CHECK(others.of_tensors.empty());
  CHECK_FALSE(others.summed_terms.empty());
  REQUIRE(others.notes.size() == 1);
  CHECK_THAT(others.notes[0], Contains("in other orders (other operators): an error that such an order may leave"));
}

TEST_CASE("an explanation holds pooled errors against what was learned, and says so", "[calibrate][explanation]") {
  Scene scene(kOneUlp);
  scene.keep(1.15);
  scene.replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 99, 7}};
  ExplainSettings settings = explained(8);
  settings.bounds_store = scene.store();
  const auto comparison = compare_stacks(scene.replays, settings, with_threads());
  REQUIRE(comparison.explanation->lockstep);
  CHECK(comparison.explanation->lockstep->options.legitimate_ratio == kLegitimateRatio);
  CHECK(comparison.explanation->lockstep->options.legitimate_ratios == Ratios{{kTensor, 1.15}});
  CHECK(comparison.explanation->lockstep->options.legitimate_ratio_from ==
        "`calibrate --lockstep` of stack-a by itself");
  REQUIRE(comparison.explanation->notes.size() == 1);
  CHECK(has(comparison.explanation->notes[0], "x1.15"));
}

// The bounds that are allowed most leave a defect of a thousandth what it is.
TEST_CASE("a defect stays one under the widest bounds that can be learned", "[calibrate][explanation]") {
  Scene scene(kOneUlp);
  LockstepBounds bounds = scene.keep(2);
  for (const char* tensor : {"gradient/fc1.bias", "gradient/fc2.weight", "gradient/fc2.bias"}) {
    bounds.pairs[0].legitimate_ratios[tensor] = 2;
  }
  scene.write(to_json(bounds).dump(), bounds);
  scene.replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 99, -1, times(1.001)}};
  ExplainSettings settings = explained(8);
  settings.bounds_store = scene.store();
  const auto comparison = compare_stacks(scene.replays, settings, with_threads());
  CHECK(comparison.explanation->lockstep->options.legitimate_ratios.size() == 4);
  CHECK(comparison.explanation->lockstep->word == LockstepWord::defect);
}

}  // namespace
}  // namespace reprobench

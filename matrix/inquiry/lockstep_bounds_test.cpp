// What `calibrate --lockstep` learns, when it refuses to, and which comparisons it holds for.
#include "matrix/inquiry/lockstep_bounds.hpp"

#include <fstream>

#include "ci/catch.hpp"
#include "matrix/contract/usage_error.hpp"
#include "matrix/inquiry/explanation_fixture.hpp"
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

  // Bounds that hold for stack-a, written where they are looked for. What they say is given; the rest is measured once.
  LockstepBounds keep(double ratio, std::optional<std::string> against = {}) {
    static const LockstepBounds kMeasured = Scene(kOneUlp).measured();
    LockstepBounds bounds = kMeasured;
    bounds.legitimate_ratio = ratio;
    bounds.refused.clear();
    if (against) {
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

  std::filesystem::path store() const { return replays.folder() / "store"; }

  ScriptedReplays replays;
};

TEST_CASE("settings that only change the order of summation are pairs, from three states and in both directions",
          "[calibrate]") {
  Scene scene(kOneUlp);
  const LockstepBounds bounds = scene.measured();
  CHECK(bounds.refused.empty());
  CHECK(bounds.legitimate_ratio == kLegitimateRatio);
  CHECK(bounds.limit_ratio == kSmallestDefect);
  CHECK(bounds.states == std::vector<std::int64_t>{0, 3, 6});
  REQUIRE(bounds.pairs.size() == 6);
  const CleanPair& two = bounds.pairs[0];
  CHECK(two.what == "threads=2");
  CHECK(two.tensors == 3 * 2 * 8);
  CHECK(two.differing > 0);
  CHECK(two.differing < two.tensors);
  CHECK(two.largest_ratio == Approx(1.0105574743));
  CHECK(two.largest_tensor == "gradient/fc1.bias");
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

TEST_CASE("nothing is learned from a pair that is not clean, from equal bits, or from runs that are fp64 themselves",
          "[calibrate]") {
  Scene wrong(kThousandth);
  const LockstepBounds refused = wrong.measured();
  CHECK_THAT(refused.refused,
             Contains("threads=2 lies too far apart to learn from: after step 0: ") && Contains("show a defect"));
  CHECK_THAT(refused.pairs[0].problem, Contains("show a defect"));
  CHECK(Scene({}).measured().refused == "every pair has equal bits: there is nothing to learn from");
  Scene exact({});
  CellRequest request = with_threads();
  request.knobs["precision"] = "fp64";
  CHECK_THROWS_AS(measure_lockstep_bounds(exact.replays.side("stack-a", request), nullptr, 8, exact.replays, kSilently),
                  UsageError);
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
             Contains("threads=2 lies too far apart to learn from: after step 0: ") && Contains("cannot be judged"));
}

TEST_CASE("another stack that is good is the only pair of a calibration against it", "[calibrate]") {
  Scene scene({});
  scene.replays.stacks["stack-b"] = kOneUlp;
  const ComparedSide base = scene.replays.side("stack-a", with_threads());
  ComparedSide other = scene.replays.side("stack-b", with_threads());
  if (GENERATE(false, true)) {
    other.attempt.lead().result->fingerprint.blas_provider = "openblas";
    const auto bounds = measure_lockstep_bounds(base, &other, 8, scene.replays, kSilently);
    CHECK(bounds.limit_ratio == kLegitimateRatioOfLibraries);
    return;
  }
  const auto bounds = measure_lockstep_bounds(base, &other, 8, scene.replays, kSilently);
  REQUIRE(bounds.pairs.size() == 1);
  CHECK(bounds.pairs[0].what == "stack-b");
  CHECK(bounds.pairs[0].differing > 0);
  CHECK(bounds.against->stack == "stack-b");
  CHECK(bounds.limit_ratio == kSmallestDefect);
  CHECK(bounds.refused.empty());
}

TEST_CASE("what a stack learned by itself holds where it is the expected side", "[calibrate]") {
  Scene scene(kOneUlp);
  CHECK(scene.asked().ratio == kLegitimateRatio);
  CHECK(scene.asked().note.empty());
  scene.keep(1.15);
  CHECK(scene.asked().ratio == 1.15);
  CHECK(scene.asked().from == "`calibrate --lockstep` of stack-a by itself");
  CHECK(scene.asked().note ==
        "pooled errors of correct runs may differ by x1.15: `calibrate --lockstep` of stack-a by itself");
  CHECK(scene.asked("stack-a", "stack-b").ratio == kLegitimateRatio);
  CellRequest in_bf16 = with_threads();
  in_bf16.knobs["precision"] = "bf16";
  CHECK(legitimate_ratio_of(scene.replays.side("stack-b", in_bf16), scene.replays.side("stack-a", with_threads()),
                            scene.store())
            .ratio == kLegitimateRatio);
  CHECK(legitimate_ratio_of(scene.replays.side("stack-b", with_threads()),
                            scene.replays.side("stack-a", with_threads()), {})
            .ratio == kLegitimateRatio);
}

TEST_CASE("what two stacks learned holds for them in either direction, before what one learned by itself",
          "[calibrate]") {
  Scene scene(kOneUlp);
  scene.keep(1.15);
  scene.keep(1.1, "stack-b");
  CHECK(scene.asked().ratio == 1.1);
  CHECK(scene.asked("stack-a", "stack-b").ratio == 1.1);
  CHECK(scene.asked("stack-a", "stack-b").from == "`calibrate --lockstep` of stack-a and stack-b");
  CHECK(scene.asked("stack-c").ratio == 1.15);
}

TEST_CASE("bounds on file are not used where anything is another, and that is said", "[calibrate]") {
  Scene scene(kOneUlp);
  LockstepBounds bounds = scene.keep(1.15);
  std::string said = "stack-a is not what it was then";
  SECTION("a component") { bounds.basis.components[0].loaded = "2.9.1"; }
  SECTION("the processor") { bounds.basis.cpu_model = "another"; }
  SECTION("its instructions") { bounds.basis.cpu_capability = "AVX2"; }
  SECTION("the library of matrix products") { bounds.basis.blas_provider = "openblas"; }
  SECTION("refused when they were measured") { said = bounds.refused = "threads=2 lies too far apart to learn from"; }
  SECTION("a bound that a defect passes") {
    bounds.legitimate_ratio = bounds.limit_ratio = kSmallestDefect;
    said = "x1.24 is none that is measured";
    if (GENERATE(false, true)) bounds.limit_ratio = 99;
  }
  SECTION("a narrower bound than without") {
    bounds.legitimate_ratio = 1.04;
    said = "x1.04 is none that is measured";
  }
  SECTION("no number") {
    bounds.legitimate_ratio = std::numeric_limits<double>::quiet_NaN();
    said = "xnan is none that is measured";
  }
  scene.write(to_json(bounds).dump(), bounds);
  CHECK(scene.asked().ratio == kLegitimateRatio);
  CHECK(scene.asked().from.empty());
  CHECK(scene.asked().note == "bounds that `calibrate --lockstep` kept of stack-a by itself are not used: " + said);
}

TEST_CASE("a file of bounds that is cut or of another schema is not used, and that is said", "[calibrate]") {
  Scene scene(kOneUlp);
  const LockstepBounds bounds = scene.keep(1.15);
  const auto [text, said] = GENERATE(table<std::string, std::string>(
      {{"{\"schema\": ", "is not JSON"}, {"{\"schema\": \"reprobench/plan\"}", "lockstep_bounds"}}));
  scene.write(text, bounds);
  CHECK(scene.asked().ratio == kLegitimateRatio);
  CHECK_THAT(scene.asked().note, Contains("are not used") && Contains(said));
}

TEST_CASE("bounds of a pair hold no longer once the other stack is another", "[calibrate]") {
  Scene scene(kOneUlp);
  LockstepBounds bounds = scene.keep(1.1, "stack-b");
  bounds.against->components[0].loaded = "2.9.1";
  scene.write(to_json(bounds).dump(), bounds);
  CHECK(scene.asked().ratio == kLegitimateRatio);
  CHECK_THAT(scene.asked().note, Contains("of stack-a and stack-b are not used: stack-b is not what it was then"));
}

TEST_CASE("between libraries of matrix products only bounds of that very pair hold, up to twice the error",
          "[calibrate]") {
  Scene scene(kOneUlp);
  scene.keep(1.15);
  const ComparedSide expected = scene.replays.side("stack-a", with_threads());
  ComparedSide measured = scene.replays.side("stack-b", with_threads());
  measured.attempt.lead().result->fingerprint.blas_provider = "openblas";
  const LegitimateRatio usual = legitimate_ratio_of(measured, expected, scene.store());
  CHECK(usual.ratio == kLegitimateRatioOfLibraries);
  CHECK_THAT(usual.note, Contains("different libraries"));
  LockstepBounds pair = scene.keep(1.4, "stack-b");
  pair.against->blas_provider = "openblas";
  scene.write(to_json(pair).dump(), pair);
  CHECK(legitimate_ratio_of(measured, expected, scene.store()).ratio == 1.4);
  pair.legitimate_ratio = kLegitimateRatioOfLibraries;
  scene.write(to_json(pair).dump(), pair);
  CHECK_THAT(legitimate_ratio_of(measured, expected, scene.store()).note, Contains("x2 is none that is measured"));
}

TEST_CASE("an explanation holds pooled errors against what was learned, and says so", "[calibrate][explanation]") {
  Scene scene(kOneUlp);
  scene.keep(1.15);
  scene.replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 99, 7}};
  ExplainSettings settings = explained(8);
  settings.bounds_store = scene.store();
  const auto comparison = compare_stacks(scene.replays, settings, with_threads());
  REQUIRE(comparison.explanation->lockstep);
  CHECK(comparison.explanation->lockstep->options.legitimate_ratio == 1.15);
  CHECK(comparison.explanation->lockstep->options.legitimate_ratio_from ==
        "`calibrate --lockstep` of stack-a by itself");
  REQUIRE(comparison.explanation->notes.size() == 1);
  CHECK(has(comparison.explanation->notes[0], "x1.15"));
}

// The bound that is allowed most leaves a defect of a thousandth what it is.
TEST_CASE("a defect stays one under the widest bound that can be learned", "[calibrate][explanation]") {
  Scene scene(kOneUlp);
  scene.keep(std::nextafter(kSmallestDefect, 0));
  scene.replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 99, -1, times(1.001)}};
  ExplainSettings settings = explained(8);
  settings.bounds_store = scene.store();
  const auto comparison = compare_stacks(scene.replays, settings, with_threads());
  CHECK(comparison.explanation->lockstep->options.legitimate_ratio > 1.2);
  CHECK(comparison.explanation->lockstep->word == LockstepWord::defect);
}

}  // namespace
}  // namespace reprobench

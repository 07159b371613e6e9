// What one component changes, on three stacks whose workers are the fake one. The mix of two of them is the third.
#include "matrix/cli/only_component.hpp"

#include "ci/catch.hpp"
#include "matrix/cli/text/component_alone_text.hpp"
#include "matrix/cli/verbs/compare_only.hpp"
#include "matrix/cli/verbs/run_verb_fixture.hpp"
#include "matrix/cli/worker_commands.hpp"

namespace reprobench {
namespace {

using Catch::Contains;

// `omp` is of one library, which is a1 at one end and b1 at the other.
class OneMix : public ComponentMixes {
 public:
  explicit OneMix(MixedStack mix) : mix_(std::move(mix)) {}

  std::vector<std::string> names() const override { return {"omp"}; }
  std::vector<DifferingComponent> components() const override {
    return {{"omp", {{"libomp.so", "a1"}}, {{"libomp.so", "b1"}}}};
  }
  MixedStack made_with(const std::vector<std::string>& from_bad) override {
    CHECK(from_bad == names());
    return mix_;
  }
  std::string making(const std::vector<std::string>&) const override { return "make it"; }
  void keep_only(const std::vector<std::string>& stacks) override { kept = stacks; }

  std::vector<std::string> kept;

 private:
  MixedStack mix_;
};

const std::string kOfA = " --loaded /x/libomp.so=a1";
const std::string kOfB = " --loaded /x/libomp.so=b1";

// The stacks `new` (A), `mix` and `old` (B), each of which does what it is told.
struct ThreeStacks : SmallProject {
  ThreeStacks() { add_stack("mix", small_stack("mix", "2.9.0")); }

  ComponentAlone ask(const std::string& a, const std::string& mix, const std::string& b, double margin = 0) const {
    const auto worker = [](const std::string& stack, const std::string& does) {
      return fmt::format("{}={} --do {}", stack, kFake, does);
    };
    const Project here = project();
    Terminal terminal;
    terminal.configure(ColorChoice::never, /*quiet=*/true);
    BisectedStacks stacks(here, terminal, given_workers({worker("new", a), worker("mix", mix), worker("old", b)}),
                          /*installs=*/false);
    WorkloadChoice choice;
    choice.steps = 4;
    const CellRequest request = training_request("", choice, {}, small_capability());
    BisectJournal journal(here.store(), "question", /*again=*/true);
    const std::vector<std::string> axis = {"new", "old"};
    const BisectScene scene{axis, request, stacks, journal, [](const std::string&) {}, /*is_of_components=*/true};
    OneMix mixes({"mix", ""});
    ComponentAlone answer = effect_of_component(scene, mixes, {"omp", "mlp/base", margin});
    CHECK(mixes.kept == std::vector<std::string>{"mix"});
    return answer;
  }
};

TEST_CASE("a component whose exchange brings B's bits explains them", "[cli][process][bisect]") {
  const ThreeStacks stacks;
  const ComponentAlone answer = stacks.ask("bits=1" + kOfA, "bits=2" + kOfB, "bits=2" + kOfB);
  CHECK(answer.bits == AloneWord::explains);
  CHECK(answer.sentence ==
        "omp alone: bits differ in step 1. A against B: bits differ in step 1. So omp explains the bits.");
  CHECK(answer.rest->first_difference.empty());
  CHECK(has_effect(answer) == true);
  CHECK_THAT(component_alone_text(answer), Contains("mlp/base: A is new, B is old\nomp alone: ") &&
                                               Contains("\n  the rest     mix against B: equal bits\n") &&
                                               Contains("\n  made by      make it\n"));
}

TEST_CASE("a component whose exchange changes nothing is refuted", "[cli][process][bisect]") {
  const ThreeStacks stacks;
  const ComponentAlone answer = stacks.ask("bits=1" + kOfA, "bits=1" + kOfB, "bits=2" + kOfB);
  CHECK(answer.bits == AloneWord::not_it);
  CHECK(answer.sentence ==
        "omp alone: equal bits. A against B: bits differ in step 1. So omp does not explain the bits.");
  CHECK(answer.rest->first_difference == "step 1");
  CHECK(has_effect(answer) == false);
}

TEST_CASE("bits that are neither A's nor B's are explained in part, and equal ones not at all",
          "[cli][process][bisect]") {
  const ThreeStacks stacks;
  CHECK(stacks.ask("bits=1" + kOfA, "bits=3" + kOfB, "bits=2" + kOfB).bits == AloneWord::in_part);
  const ComponentAlone equal = stacks.ask("bits=1" + kOfA, "bits=1" + kOfB, "bits=1" + kOfB);
  CHECK(equal.bits == AloneWord::nothing);
  CHECK(equal.rest->first_difference.empty());
  const ComponentAlone undone = stacks.ask("bits=1" + kOfA, "bits=2" + kOfB, "bits=1" + kOfB);
  CHECK(undone.bits == AloneWord::nothing);
  CHECK(undone.rest->first_difference == "step 1");
  CHECK(has_effect(undone) == true);
}

TEST_CASE("a component that no worker has mapped is not cleared by equal bits", "[cli][process][bisect]") {
  const ThreeStacks stacks;
  for (const auto& [a, mix] : {std::pair<std::string, std::string>{"", kOfB}, {kOfA, ""}, {kOfA, kOfA}, {"", ""}}) {
    const ComponentAlone answer = stacks.ask("bits=1" + a, "bits=1" + mix, "bits=2" + kOfB, 0.05);
    CHECK_THAT(answer.problem, Contains("this work loads no library of omp that differs"));
    CHECK_FALSE(has_effect(answer));
    CHECK_FALSE(answer.time);
    CHECK_THAT(answer.sentence, Contains("omp alone: not known: "));
  }
}

TEST_CASE("one of the three that crashes or does not repeat leaves everything open", "[cli][process][bisect]") {
  const ThreeStacks stacks;
  const std::string good = "bits=1" + kOfA;
  const std::string bad = "bits=2" + kOfB;
  CHECK_THAT(stacks.ask("crash=11" + kOfA, bad, bad).problem, Contains("new: ") && Contains("SIGSEGV"));
  CHECK_THAT(stacks.ask(good, "poison_shows" + kOfB, bad).problem, Contains("mix: a second process gives other bits"));
  const ComponentAlone answer = stacks.ask(good, good, "exit=3" + kOfB);
  CHECK_THAT(answer.problem, Contains("old: "));
  CHECK_FALSE(has_effect(answer));
}

TEST_CASE("step times are taken of all three, and the component's share is said with its interval",
          "[cli][process][bisect]") {
  const ThreeStacks stacks;
  const ComponentAlone all = stacks.ask("slow=1.2" + kOfA, "ok" + kOfB, "ok" + kOfB, 0.05);
  CHECK(all.bits == AloneWord::nothing);
  CHECK(all.time == AloneWord::explains);
  CHECK(all.alone->time->ratio == Approx(1.2).epsilon(0.03));
  CHECK(all.alone->time->pairs == 9);
  ComponentAlone said = all;
  said.alone->time = RatioInterval{1.02, 1.01, 1.03, 9};
  said.whole->time = RatioInterval{0.5, 0.25, 0.75, 9};
  said.time = AloneWord::not_it;
  CHECK(component_alone_sentence(said) ==
        "omp alone: equal bits; step time x1.020 [1.010, 1.030]. A against B: equal bits; step time x0.500 [0.250, "
        "0.750]. So omp has nothing to explain in the bits and does not explain the time.");
  CHECK_THAT(component_alone_text(all), Contains("of 9 processes each; less than 5 % is no difference"));
  CHECK(has_effect(all) == true);
  const ComponentAlone none = stacks.ask("slow=1.2" + kOfA, "slow=1.2" + kOfB, "ok" + kOfB, 0.05);
  CHECK(none.time == AloneWord::not_it);
  CHECK(has_effect(none) == false);
  const ComponentAlone part = stacks.ask("slow=1.44" + kOfA, "slow=1.2" + kOfB, "ok" + kOfB, 0.05);
  CHECK(part.time == AloneWord::in_part);
  CHECK(part.rest->time->ratio == Approx(1.2).epsilon(0.03));
}

TEST_CASE("a mix that may not be made is refused with the rule before anything runs", "[cli][bisect]") {
  const SmallProject place;
  const Project here = place.project();
  Terminal terminal;
  BisectedStacks stacks(here, terminal, given_workers({"new=/nowhere", "old=/nowhere"}), /*installs=*/false);
  BisectJournal journal(here.store(), "question", /*again=*/true);
  const std::vector<std::string> axis = {"new", "old"};
  const CellRequest request;
  const BisectScene scene{axis, request, stacks, journal, [](const std::string&) { FAIL("it ran"); }, true};
  OneMix mixes({"", "cuDNN 8 is no cuDNN 9"});
  CHECK_THROWS_WITH(effect_of_component(scene, mixes, {"omp", "mlp/base", 0.05}), "cuDNN 8 is no cuDNN 9");
}

}  // namespace
}  // namespace reprobench

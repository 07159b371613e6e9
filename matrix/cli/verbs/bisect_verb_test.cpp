// `bisect` on stacks whose workers are the fake one.
#include <nlohmann/json.hpp>

#include "ci/catch.hpp"
#include "matrix/cli/verbs/bisect_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using nlohmann::json;

const std::string kReluCall = "relu(f32[4])";

TEST_CASE("the stack is named where a call's bits change, with what shows it", "[cli][process][bisect]") {
  const StackAxis axis({"bits=1", "bits=1", "bits=1", "bits=1", "bits=1", "bits=2", "bits=2", "bits=2"});
  const Said said = axis.bisect({"--call", " relu( f32[4] )"});
  CHECK(said.code == ExitCode::passed);
  CHECK(said.out ==
        "relu(f32[4])\n"
        "  last good    t-1.9.0\n"
        "  first bad    t-1.10.0\n"
        "  other bits   output.0 float32[4]\n"
        "  judged       rounding: output.0 is 6.0e-08 from fp64, the reference's 6.0e-08\n"
        "  changed      torch: `t-1.10.0` against `t-1.9.0`\n"
        "  shown by     reprobench bisect --good t-1.9.0 --bad t-1.10.0 --axis t-1.9.0,t-1.10.0 --call "
        "'relu(f32[4])'" +
            axis.worker_words(4) + axis.worker_words(5) +
            "\n"
            "  evaluations  5, of 8 stacks\n");
  CHECK_THAT(said.err, Contains("axis: t-1.5.0, t-1.6.0, t-1.7.0, t-1.8.0, t-1.9.0, t-1.10.0, t-1.11.0, t-1.12.0\n"));
  CHECK_THAT(said.err, Contains("  [5] t-1.10.0: as the bad end\n") || Contains("  [5] t-1.9.0: as the good end\n"));
}

TEST_CASE("each position of the change is found, and every answer was seen on both sides", "[cli][process][bisect]") {
  for (std::size_t first_bad = 1; first_bad < 5; ++first_bad) {
    Texts does(first_bad, "bits=1");
    does.resize(5, "bits=2");
    const StackAxis axis(does);
    const json answer = axis.document({"--call", kReluCall}).at("answers").at(0);
    CHECK(answer.at("word") == "found");
    CHECK(answer.at("culprit").at("after") == axis.name(first_bad));
    std::map<std::string, std::string> states;
    for (const json& evaluated : answer.at("evaluations")) states[evaluated.at("stack")] = evaluated.at("state");
    CHECK(states.at(axis.name(first_bad)) == "as the bad end");
    CHECK(states.at(axis.name(first_bad - 1)) == "as the good end");
  }
}

TEST_CASE("a stack that crashes, lacks the operator or is not there is untestable, never bad",
          "[cli][process][bisect]") {
  const StackAxis axis({"bits=1", "bits=1", "crash=11", "", "absent_call", "poison_shows", "bits=2", "bits=2"});
  const Said said = axis.bisect({"--call", kReluCall});
  CHECK(said.code == ExitCode::passed);
  CHECK_THAT(said.out, Contains("  last good    t-1.6.0\n  first bad    t-1.11.0\n  untestable   t-1.7.0, t-1.8.0, "
                                "t-1.9.0, t-1.10.0: the change may be in any of them\n"));
  CHECK_THAT(said.err, Contains("t-1.7.0: untestable: replay"));
  CHECK_THAT(said.err, Contains("SIGSEGV"));
  CHECK_THAT(said.err, Contains("t-1.8.0: untestable: not installed") && Contains("reprobench stack install t-1.8.0"));
  CHECK_THAT(said.err, Contains("t-1.9.0: untestable: this release has no operator of that name"));
  CHECK_THAT(said.err, Contains("t-1.10.0: untestable: a second process gives other bits"));
  CHECK(axis.document({"--call", kReluCall}).at("answers").at(0).at("word") == "range");
}

TEST_CASE("an operator that the list has not is refused with each that it has, once", "[cli][process][bisect]") {
  const StackAxis axis({"bits=1", "bits=2"});
  CHECK_THROWS_WITH(
      axis.bisect({"--call", "nosuch", "--calls", REPROBENCH_SOURCE_ROOT "/suites/operators/published.yaml"}),
      Contains("`nosuch`; there are native_layer_norm, addmm, mm"));
}

TEST_CASE("bits of neither end are a change of their own", "[cli][process][bisect]") {
  const StackAxis axis({"bits=1", "bits=1", "bits=3", "bits=3", "bits=3", "bits=2"});
  const json answer = axis.document({"--call", kReluCall}).at("answers").at(0);
  CHECK(answer.at("culprit").at("before") == "t-1.9.0");
  CHECK(answer.at("culprit").at("before_state") == "another change");
  CHECK(answer.at("culprit").at("after") == "t-1.10.0");
  REQUIRE(answer.at("others").size() == 1);
  CHECK(answer.at("others").at(0).at("before") == "t-1.6.0");
  CHECK(answer.at("others").at(0).at("after") == "t-1.7.0");
  const std::string text = axis.bisect({"--call", kReluCall}).out;
  CHECK_THAT(text, Contains("  but          t-1.9.0 is not as the good end either\n"));
  CHECK_THAT(text, Contains("  also changes from t-1.6.0 to t-1.7.0 (another change)\n"));
}

TEST_CASE("ends that do not differ, or cannot be run, are no answer", "[cli][process][bisect]") {
  const StackAxis same({"bits=1", "bits=2", "bits=1"});
  const Said equal = same.bisect({"--call", kReluCall});
  CHECK(equal.code == ExitCode::undecided);
  CHECK_THAT(equal.out, Contains("  equal        the bad end does not show the change\n"));
  CHECK(same.document({"--call", kReluCall}).at("answers").at(0).at("culprit").is_null());
  for (const Texts& does :
       {Texts{"exit=3", "bits=1", "bits=2"}, Texts{"bits=1", "bits=1", "hang_not"}, Texts{"bits=1", "bits=1", ""}}) {
    const StackAxis broken(does);
    const Said said = broken.bisect({"--call", kReluCall});
    CHECK(said.code == ExitCode::undecided);
    CHECK_THAT(said.out, Contains("  unclear      the ") && Contains(" end is untestable: "));
  }
}

TEST_CASE("a worker that loads another library than its stack's says nothing about the stack",
          "[cli][process][bisect]") {
  const SmallProject place;
  place.install("old", small_capability("2.8.0"));
  place.install("new", small_capability(), /*with_worker=*/true, "/elsewhere/libtorch_cpu.so=abc");
  const Texts words{"--good", "old", "--bad", "new", "--call", kReluCall};
  const Said said = said_by(&declare_bisect, place.store(), words);
  CHECK(said.code == ExitCode::undecided);
  CHECK_THAT(said.out, Contains("the bad end is untestable: new: /elsewhere/libtorch_cpu.so was loaded"));
  // Nor does one whose files are not those that were installed.
  written_file(
      place.project().stack_store().find(place.project().stacks().at("old")).folder / "site/torch/lib/libtorch_cpu.so",
      "another torch");
  const Said changed = said_by(&declare_bisect, place.store(), words);
  CHECK(changed.code == ExitCode::undecided);
  CHECK_THAT(changed.out, Contains("the good end is untestable: old is not what was installed"));
}

TEST_CASE("two stacks that load one torch are no two points of an axis", "[cli][process][bisect]") {
  const std::string one = " --loaded /x/libtorch_cpu.so=1111";
  const StackAxis axis({"bits=1" + one, "bits=2" + one, "bits=2 --loaded /x/libtorch_cpu.so=2222"});
  const Said said = axis.bisect({"--call", kReluCall});
  CHECK_THAT(said.err, Contains("t-1.6.0: untestable: both stacks loaded the same libtorch_cpu.so, build id 1111"));
  CHECK_THAT(said.out, Contains("  untestable   t-1.6.0: the change may be in any of them\n"));
}

TEST_CASE("what was seen is not run again, but for a stack that is another one now", "[cli][process][bisect]") {
  StackAxis axis({"bits=1", "bits=1", "bits=1", "bits=2", "bits=2"});
  const json first = axis.document({"--call", kReluCall});
  CHECK(first.at("stacks_run") == 4);
  const json again = axis.document({"--call", kReluCall});
  CHECK(again.at("stacks_run") == 0);
  CHECK(again.at("answers") == first.at("answers"));
  CHECK(axis.document({"--call", kReluCall, "--again"}).at("stacks_run") == 4);
  CHECK(axis.document({"--call", "relu(f32[5])"}).at("stacks_run") == 4);
  axis.does[2] = "bits=2";
  const json changed = axis.document({"--call", kReluCall});
  CHECK(changed.at("stacks_run") == 2);  // that one, and the neighbour that is asked now
  CHECK(changed.at("answers").at(0).at("culprit").at("after") == axis.name(2));
}

TEST_CASE("all calls of an operator are asked about by one run of each stack", "[cli][process][bisect]") {
  const StackAxis axis({"ok", "ok", "ok_other_bits", "ok_other_bits"});
  const std::string list = written_file(axis / "calls.yaml",
                                        "schema: 1\nname: mine\ncalls:\n  - call: relu(f32[4])\n  - call: "
                                        "relu(f32[5])\n  - call: tanh(f32[4])\n");
  const Said said = axis.bisect({"--call", "relu", "--calls", list});
  // The second call alone moves, to bits of each stack's own.
  CHECK(said.code == ExitCode::passed);
  CHECK_THAT(said.out, Contains("relu(f32[4])\n  equal        ") &&
                           Contains("relu(f32[5])\n  not yet bad  t-1.7.0\n") &&
                           Contains("  also changes from t-1.6.0 to t-1.7.0") && Contains("--calls "));
  CHECK_FALSE(Contains("tanh").match(said.out));
  CHECK(axis.document({"--call", "relu", "--calls", list}).at("stacks_run") == 0);
  CHECK_THROWS_WITH(axis.bisect({"--call", "rleu", "--calls", list}), Contains("did you mean `relu`?"));
}

TEST_CASE("a training is bisected by the bits of its steps", "[cli][process][bisect]") {
  const StackAxis axis({"bits=1", "bits=1", "bits=2", "bits=2"});
  axis.install(axis.name(0), small_capability("1.5.0"));
  const Said said = axis.bisect({"--workload", "mlp/base", "--steps", "4"});
  CHECK(said.code == ExitCode::passed);
  CHECK_THAT(said.out, Contains("mlp/base, 4 steps of 32\n  last good    t-1.6.0\n  first bad    t-1.7.0\n") &&
                           Contains("  judged       step 1 is the first that differs\n") &&
                           Contains("  shown by     reprobench compare t-1.7.0 t-1.6.0 --model mlp --preset base "
                                    "--steps 4 --batch 32") &&
                           Contains(" --explain\n"));
  CHECK_THROWS_WITH(axis.bisect({"--workload", "mlp/bse"}), Contains("did you mean `base`?"));
}

TEST_CASE("a slower stack is found by pairs of processes, and both ends are asked again", "[cli][process][bisect]") {
  const StackAxis axis({"ok", "ok", "slow=1.2", "slow=1.2"});
  const Texts words{"--call", kReluCall, "--slower", "10"};
  const Said said = axis.bisect(words);
  CHECK(said.code == ExitCode::passed);
  CHECK_THAT(said.out, Contains("  last good    t-1.6.0\n  first bad    t-1.7.0\n") &&
                           Contains("  judged       1.200 of the good end's time (1.200 to 1.200, ") &&
                           Contains("slower by more than 10 %: the answer holds with a confidence of 95 %\n") &&
                           Contains(" --slower 10 --worker"));
  CHECK_THAT(said.err, Contains("t-1.5.0 again: as the good end") && Contains("t-1.8.0 again: as the bad end"));
  CHECK(axis.document(words).at("stacks_run") == 0);
  CHECK(axis.bisect({"--call", kReluCall, "--slower", "30"}).code == ExitCode::undecided);
}

TEST_CASE("the axis may be given, and runs from new to old where the good end is the newer one",
          "[cli][process][bisect]") {
  const StackAxis axis({"bits=2", "bits=2", "bits=1", "bits=1"});
  Texts words{"--good", axis.name(3), "--bad", axis.name(0), "--call", kReluCall};
  for (std::size_t i = 0; i < 4; ++i) {
    words.insert(words.end(), {"--worker", fmt::format("{}={} --do {}", axis.name(i), kFake, axis.does[i])});
  }
  const Said said = said_by(&declare_bisect, axis.store(), words);
  CHECK_THAT(said.err, Contains("axis: t-1.8.0, t-1.7.0, t-1.6.0, t-1.5.0\n"));
  CHECK_THAT(said.out, Contains("  last good    t-1.7.0\n  first bad    t-1.6.0\n"));
  words.insert(words.end(), {"--axis", "t-1.8.0,t-1.6.0,t-1.5.0"});
  CHECK_THAT(said_by(&declare_bisect, axis.store(), words).out,
             Contains("  last good    t-1.8.0\n  first bad    t-1.6.0\n"));
  words.back() = "t-1.8.0,t-1.6.0";
  CHECK_THROWS_WITH(said_by(&declare_bisect, axis.store(), words), Contains("the ends are"));
  words.back() = "t-1.8.0,t-1.6.0,t-1.6.0,t-1.5.0";
  CHECK_THROWS_WITH(said_by(&declare_bisect, axis.store(), words), Contains("t-1.6.0 twice"));
  words.back() = "t-1.8.0,t-1.60,t-1.5.0";
  CHECK_THROWS_WITH(said_by(&declare_bisect, axis.store(), words), Contains("did you mean"));
}

TEST_CASE("a call or knob that is typed wrongly is refused before an image is read", "[cli][bisect]") {
  const SmallProject project;
  const auto bisect = [&](const Texts& more) {
    Texts words{"--good", "/nowhere/a", "--bad", "/nowhere/b"};
    words.insert(words.end(), more.begin(), more.end());
    return said_by(&declare_bisect, project.store(), words);
  };
  CHECK_THROWS_WITH(bisect({"--call", "relu(f32[4)"}), Contains("--call: operator call: "));
  CHECK_THROWS_WITH(bisect({"--call", kReluCall, "--knob", "thread=1"}), Contains("thread"));
  CHECK_THROWS_WITH(bisect({"--call", kReluCall}), Contains("/nowhere/a") && Contains("no such file"));
}

TEST_CASE("a bisect that asks nothing, or two things, is refused", "[cli][bisect]") {
  const StackAxis axis({"ok", "ok"});
  CHECK_THROWS_WITH(axis.bisect({}), "say one of --call, --workload and --check");
  CHECK_THROWS_WITH(axis.bisect({"--call", "relu", "--workload", "mlp"}), "say one of --call, --workload and --check");
  CHECK_THROWS_WITH(axis.bisect({"--workload", "mlp", "--calls", "x"}), "--calls is the list of --call");
  CHECK_THROWS_WITH(axis.bisect({"--call", "relu(f32[4]"}), Contains("--call: "));
  CHECK_THROWS_WITH(said_by(&declare_bisect, axis.store(), {"--good", "new", "--bad", "new", "--call", kReluCall}),
                    Contains("one stack"));
  CHECK_THROWS_WITH(said_by(&declare_bisect, axis.store(), {"--good", "nwe", "--bad", "old", "--call", kReluCall}),
                    Contains("did you mean `new`?"));
}

}  // namespace
}  // namespace reprobench

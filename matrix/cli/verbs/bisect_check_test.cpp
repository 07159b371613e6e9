// `bisect --check` on stacks whose workers are the fake one.
#include "ci/catch.hpp"
#include "matrix/cli/verbs/bisect_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using nlohmann::json;

const Texts kMemory{"--check", "checks-mlp-t-1.8.0-cpu", "memory.peak_anonymous"};

// Four stacks, the first the reference of a run of the last.
struct CheckedAxis : StackAxis {
  explicit CheckedAxis(Texts behaviours, int repeat = 2, int max_repeat = 0) : StackAxis(std::move(behaviours)) {
    const std::string further = max_repeat == 0 ? "" : fmt::format("max_repeat: {}\n", max_repeat);
    add_suite("checks",
              fmt::format("schema: 1\nname: checks\ndescription: d\nworkloads: [{{model: mlp, preset: base, steps: 20, "
                          "batch_size: 32}}]\ntrace: step\nrepeat: {}\n{}timeout: 5m\nthresholds:\n"
                          "  memory.peak_anonymous: {{max_regression: 10%, vs: reference}}\n"
                          "  memory.peak_rss: {{max_regression: 10%, vs: reference, gate: record_only}}\n"
                          "  throughput.step_time: {{max_regression: 10%, vs: reference}}\n",
                          repeat, further));
    add_suite("ranks",
              "schema: 1\nname: ranks\ndescription: d\nworkloads: [{probe: collectives, preset: base, samples: 5}]\n"
              "world_size: 2\nrepeat: 1\ntimeout: 5m\nthresholds:\n  comm.latency_ratio: {max: 200%, vs: reference}\n"
              "  comm.latency_p50:\n    - {max: 2us, of: {operation: all_reduce, size: 8B}}\n"
              "    - {max: 2us, of: {operation: all_reduce, size: 4KiB}}\n");
  }

  Said run(const std::string& suite = "checks", const Texts& more = {}) const {
    const std::string matrix =
        written_file(*this / "checks.yaml",
                     fmt::format("schema: 1\nname: checks\nsuites: [{}]\naxes:\n  stack: [{}, {}]\n  device: [cpu]\n"
                                 "reference: {{stack: {}}}\n",
                                 suite, name(does.size() - 1), name(0), name(0)));
    Texts words{"--matrix", matrix, "--no-report"};
    words.insert(words.end(), more.begin(), more.end());
    return said_by(&declare_run, store(), with_ends(words));
  }

  Texts with_ends(Texts words) const {
    for (const std::size_t i : {std::size_t{0}, does.size() - 1}) {
      words.insert(words.end(), {"--worker", fmt::format("{}={} --do {}", name(i), kFake, does[i])});
    }
    return words;
  }
};

json answer_in(const json& document) { return document.at("answers").at(0); }

TEST_CASE("the release is named in which a check of memory begins to fail", "[cli][process][bisect]") {
  const CheckedAxis axis({"ok", "ok", "rss=1.85", "rss=1.85"});
  REQUIRE(axis.run().code == ExitCode::failed);
  const Said said = axis.bisect(kMemory);
  CHECK(said.code == ExitCode::passed);
  CHECK_THAT(said.out, StartsWith("memory.peak_anonymous x1.85 in t-1.7.0, x1.00 in t-1.6.0\n"
                                  "  of           checks-mlp-t-1.8.0-cpu of run r-"));
  CHECK_THAT(said.out, Contains(", max_regression: 10%\n  last good    t-1.6.0\n  first bad    t-1.7.0\n"
                                "  judged       17.6 MiB against 9.5 MiB: x1.850 [1.850, 1.850], worse by more than "
                                "10 %; before 9.5 MiB against 9.5 MiB: x1.000") &&
                           Contains("  changed      torch: `t-1.7.0` against `t-1.6.0`\n"));
  // The ends, the middle, and the ends anew.
  CHECK_THAT(said.out, Contains("  evaluations  6, of 4 stacks\n"));
  CHECK_THAT(said.err, Contains("t-1.5.0 again: as the good end") && Contains("t-1.8.0 again: as the bad end"));
  // Each is held against the reference of the run, whose worker the command that shows the change names too.
  CHECK_THAT(said.out, Contains("  shown by     reprobench --store ") && Contains(axis.worker_words(0)) &&
                           Contains(axis.worker_words(2)) && !Contains(axis.worker_words(3)));
  CHECK(std::filesystem::is_empty(axis.store() / "replays"));
}

TEST_CASE("a run that failed ends with the command that finds the release, where stacks lie between",
          "[cli][process][bisect]") {
  const CheckedAxis axis({"ok", "ok", "rss=1.85"});
  const Said run = axis.run();
  const std::string command = "bisect --good t-1.5.0 --bad t-1.7.0 --check ";
  CHECK_THAT(run.err, Contains("which stack between did it: reprobench --store ") && Contains(command) &&
                          Contains(" memory.peak_anonymous --run r-") &&
                          Contains(axis.worker_words(0) + axis.worker_words(2) + " --install\n"));
  // What lies between neighbours are components, and these are no installed wheels.
  CHECK_FALSE(Contains("bisect --good").match(CheckedAxis({"ok", "rss=1.85"}).run().err));
  CHECK_FALSE(Contains("bisect --good").match(CheckedAxis({"ok", "ok", "ok"}).run().err));
  const Said drill = axis.run("checks", {"--inject", "kind=weight_ulp,step=2,tensor=fc1.weight,element=0"});
  CHECK_FALSE(Contains("bisect --good").match(drill.err));
}

TEST_CASE("the answer of a check is a document, and what was run is not run again", "[cli][process][bisect]") {
  CheckedAxis axis({"ok", "rss=1.85", "rss=1.85", "rss=1.85"});
  REQUIRE(axis.run().code == ExitCode::failed);
  const json first = axis.document(kMemory);
  CHECK(first.at("asked") == "check");
  CHECK(first.at("check").at("metric") == "memory.peak_anonymous");
  CHECK(first.at("check").at("reason") == "over_bound");
  const json change = answer_in(first).at("culprit").at("check");
  CHECK(change.at("before").at("ratio") == 1.0);
  CHECK(change.at("after").at("ratio") == 1.85);
  CHECK(first.at("stacks_run") == 3);
  const json again = axis.document(kMemory);
  CHECK(again.at("stacks_run") == 0);
  CHECK(again.at("answers") == first.at("answers"));
  axis.does[1] = "ok";
  const json changed = axis.document(kMemory);
  CHECK(changed.at("stacks_run") == 2);  // that one, and the neighbour that is asked now
  CHECK(answer_in(changed).at("culprit").at("after") == "t-1.7.0");
  axis.does[0] = "ok --loaded /x/libother.so=1";  // all were held against it
  CHECK(axis.document(kMemory).at("stacks_run") == 4);
}

TEST_CASE("the release is named in which a check of step time begins to fail", "[cli][process][bisect]") {
  const CheckedAxis axis({"ok", "slow=1.3", "slow=1.3", "slow=1.3"}, /*repeat=*/6);
  REQUIRE(axis.run().code == ExitCode::failed);
  const Said said = axis.bisect({"--check", "checks-mlp-t-1.8.0-cpu", "throughput.step_time"});
  CHECK(said.code == ExitCode::passed);
  CHECK_THAT(said.out, StartsWith("throughput.step_time x1.30 in t-1.6.0, x1.00 in t-1.5.0\n"));
}

TEST_CASE("a check that noise leaves open is measured again as in a run, and is never bad", "[cli][process][bisect]") {
  const CheckedAxis axis({"ok", "slow=1.1", "slow=1.3"}, /*repeat=*/6, /*max_repeat=*/12);
  REQUIRE(axis.run().code == ExitCode::failed);
  const Said said = axis.bisect({"--check", "checks-mlp-t-1.7.0-cpu", "throughput.step_time"});
  CHECK_THAT(said.out, Contains("  untestable   t-1.6.0: the change may be in any of them\n"));
  CHECK_THAT(said.err,
             Contains("t-1.6.0: untestable: ") && Contains("the interval of 12 pairs reaches over the bound"));
}

TEST_CASE("the release is named in which a check of collectives begins to fail", "[cli][process][bisect]") {
  const CheckedAxis axis({"ok", "ok", "ok", "slow_collective=3"});
  REQUIRE(axis.run("ranks").code == ExitCode::failed);
  const std::string cell = "ranks-collectives-t-1.8.0-cpu-world_size-2";
  const Said ratio = axis.bisect({"--check", cell, "comm.latency_ratio"});
  CHECK(ratio.code == ExitCode::passed);
  CHECK_THAT(ratio.out, StartsWith("comm.latency_ratio 3 in t-1.8.0, 1 in t-1.7.0\n"));
  // A bound on the value itself needs no reference. Of several that failed one is named.
  CHECK_THROWS_WITH(axis.bisect({"--check", cell, "comm.latency_p50"}),
                    Contains("failed 2 times: name one of 'comm.latency_p50 of "));
  const Said value = axis.bisect({"--check", cell, "comm.latency_p50 of all_reduce size=8B"});
  CHECK_THAT(value.out, StartsWith("comm.latency_p50 of all_reduce size=8B 3.0 us in t-1.8.0, 1.0 us in t-1.7.0\n"));
  CHECK_THAT(value.out, Contains("--check ") && Contains(" 'comm.latency_p50 of all_reduce size=8B' --run r-"));
}

TEST_CASE("a check that neither end fails is no answer", "[cli][process][bisect]") {
  CheckedAxis axis({"ok", "ok", "ok", "rss=1.85"});
  REQUIRE(axis.run().code == ExitCode::failed);
  axis.does.back() = "ok";
  const Said said = axis.bisect(kMemory);
  CHECK(said.code == ExitCode::undecided);
  CHECK_THAT(said.out, StartsWith("memory.peak_anonymous of checks-mlp-t-1.8.0-cpu\n  equal        the bad end does "
                                  "not show the change"));
  axis.does = {"rss=1.85", "ok", "ok", "rss=1.85"};  // held against itself
  CHECK(answer_in(axis.document(kMemory)).at("word") == "equal");
}

TEST_CASE("a stack that crashes, is not there or diverges leaves a range, and is never bad", "[cli][process][bisect]") {
  const CheckedAxis axis({"ok", "crash=11", "", "nan,rss=1.85", "drop_metric", "rss=1.85"});
  REQUIRE(axis.run().code == ExitCode::failed);
  const Said said = axis.bisect({"--check", "checks-mlp-t-1.10.0-cpu", "memory.peak_anonymous"});
  CHECK(said.code == ExitCode::passed);
  CHECK_THAT(said.out, StartsWith("memory.peak_anonymous x1.85 in t-1.10.0, x1.00 in t-1.5.0\n") &&
                           Contains("  untestable   t-1.6.0, t-1.7.0, t-1.8.0, t-1.9.0: the change may be in any of "
                                    "them\n"));
  CHECK_THAT(said.err, Contains("t-1.6.0: untestable: ") && Contains("SIGSEGV") && Contains("; the logs are in "));
  CHECK_THAT(said.err, Contains("t-1.7.0: untestable: not installed"));
  CHECK_THAT(said.err, Contains("t-1.8.0: untestable: ") && Contains("(non_finite_loss)"));
  CHECK_THAT(said.err, Contains("t-1.9.0: untestable: ") && Contains("missing_metric"));
}

TEST_CASE("a worker that loads another library than its stack's fails no check of the stack",
          "[cli][process][bisect]") {
  const CheckedAxis axis({"ok", "", "rss=1.85"});
  REQUIRE(axis.run().code == ExitCode::failed);
  const InstalledStack stack = axis.install("t-1.6.0", small_capability("1.6.0"));
  SmallProject::replace_worker(
      stack, fmt::format("#!/bin/sh\nexec '{}' \"$@\" --do rss=1.85 --loaded /elsewhere/libtorch_cpu.so=abc\n", kFake));
  const Said said = axis.bisect({"--check", "checks-mlp-t-1.7.0-cpu", "memory.peak_anonymous"});
  CHECK_THAT(said.err, Contains("t-1.6.0: untestable: t-1.6.0: /elsewhere/libtorch_cpu.so was loaded"));
  CHECK_THAT(said.out, Contains("  untestable   t-1.6.0: the change may be in any of them\n"));
}

TEST_CASE("an end that cannot be judged, or a reference that is gone, leaves a check open", "[cli][process][bisect]") {
  CheckedAxis axis({"ok", "ok", "ok", "rss=1.85"});
  REQUIRE(axis.run().code == ExitCode::failed);
  axis.does.back() = "crash=11";
  CHECK_THAT(axis.bisect(kMemory).out, Contains("  unclear      the bad end is untestable: "));
  axis.does = {"crash=11", "ok", "ok", "rss=1.85"};
  const Said gone =
      said_by(&declare_bisect, axis.store(), axis.with_workers({"--good", "t-1.6.0", "--bad", "t-1.8.0"}, kMemory));
  CHECK(gone.code == ExitCode::undecided);
  CHECK_THAT(gone.out, Contains("  unclear      the good end is untestable: checks-mlp-t-1.5.0-cpu-reference: "));
}

TEST_CASE("a check that cannot be asked again is refused, and nothing is run", "[cli][process][bisect]") {
  const CheckedAxis axis({"ok", "ok", "ok", "rss=1.85"});
  CHECK_THROWS_WITH(axis.bisect(kMemory), Contains("no run"));
  REQUIRE(axis.run().code == ExitCode::failed);
  const std::string cell = "checks-mlp-t-1.8.0-cpu";
  const auto refused = [&](const Texts& words, const std::string& text) {
    CHECK_THROWS_WITH(axis.bisect(words), Contains(text));
  };
  refused({"--check", "checks-mlp-t-1.8.0-cqu", "memory.peak_anonymous"}, "did you mean `" + cell + "`?");
  refused({"--check", cell, "memory.peak_anonymuos"}, "did you mean `memory.peak_anonymous`?");
  refused({"--check", cell, "memory.peak_rss"}, "has no armed bound");
  refused({"--check", cell, "throughput.step_time"}, "did not fail in that run (inconclusive): ");
  refused({"--check", cell, "memory.peak_anonymous", "--call", "relu"}, "say one of");
  refused({"--check", cell, "memory.peak_anonymous", "--workload", "mlp"}, "say one of");
  refused({"--check", cell, "memory.peak_anonymous", "--slower", "5"}, "--slower has no --check");
  refused({"--check", cell, "memory.peak_anonymous", "--knob", "threads=1"}, "--knob has no --check");
  refused({"--call", "relu", "--run", "r-1"}, "--run is the run of --check");
  CHECK_FALSE(std::filesystem::exists(axis.store() / "replays"));
}

TEST_CASE("a drill and a run that was changed say nothing about a stack", "[cli][process][bisect]") {
  const CheckedAxis drill({"ok", "ok", "ok", "rss=1.85"});
  drill.run("checks", {"--inject", "kind=weight_ulp,step=2,tensor=fc1.weight,element=0"});
  CHECK_THROWS_WITH(drill.bisect(kMemory), Contains("the run is a drill"));
  const CheckedAxis changed({"ok", "ok", "ok", "rss=1.85"});
  REQUIRE(changed.run().code == ExitCode::failed);
  for (const auto& run : std::filesystem::directory_iterator(changed.store() / "runs")) {
    const std::string plan = read_file(run.path() / "plan.json");
    written_file(run.path() / "plan.json", plan + "\n");
  }
  CHECK_THROWS_WITH(changed.bisect(kMemory), Contains("plan.json"));
}

}  // namespace
}  // namespace reprobench

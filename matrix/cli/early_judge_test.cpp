// What is said of cells while the others still run: who failed, and what is measured again because of noise.
#include "matrix/cli/early_judge.hpp"

#include "ci/catch.hpp"
#include "matrix/cli/verbs/run_verb_fixture.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/verdict/judge.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

// The slugs that are said to have failed as each cell ends, in that order.
Texts failed_as_they_end(const RunPlace& place, const Texts& order) {
  const RunRecord run = load_run(place.run_folder().string());
  EarlyJudge judge(run.plan, run.folder);
  Texts said;
  for (const std::string& slug : order) {
    for (std::size_t i = 0; i < run.plan.cells.size(); ++i) {
      if (run.plan.cells[i].cell.slug != slug) continue;
      for (const CellVerdict& cell : judge.cell_ended(run.cells[i])) said.push_back(slug + " tells " + cell.slug);
    }
  }
  return said;
}

TEST_CASE("a cell fails when it and its reference have ended, in either order, and is told once", "[cli][process]") {
  const RunPlace place;
  place.add_suite(
      "short",
      "schema: 1\nname: short\ndescription: d\nworkloads: [{model: mlp, preset: base, steps: 6, batch_size: "
      "32}]\ntrace: tensor\nrepeat: 1\ntimeout: 5m\nthresholds:\n  numerics.reference_mismatches: {max: 0}\n");
  place.run("drift=3");
  const std::string candidate = "short-mlp-new-cpu";
  const std::string reference = "short-mlp-old-cpu";
  CHECK(failed_as_they_end(place, {candidate, reference}) == Texts{reference + " tells " + candidate});
  CHECK(failed_as_they_end(place, {reference, candidate}) == Texts{candidate + " tells " + candidate});
  CHECK(failed_as_they_end(place, {reference, candidate, reference, candidate}) ==
        Texts{candidate + " tells " + candidate});
  CHECK(failed_as_they_end(place, {candidate}).empty());
}

// A suite whose only cells are timed against each other, and a candidate of whom the script says what each repeat does.
class NoisyPlace : public RunPlace {
 public:
  explicit NoisyPlace(const std::string& more_of_suite = "") {
    add_suite("short",
              "schema: 1\nname: short\ndescription: d\nworkloads: [{model: mlp, preset: base, steps: 6, batch_size: "
              "32}]\nrepeat: 7\nmax_repeat: 14\ntimeout: 5m\nthresholds:\n  throughput.step_time: {max_regression: "
              "10%, vs: reference}\n" +
                  more_of_suite);
  }
  Said run_with(const json& script, const Texts& more = {}, const std::string& loaded = "") const {
    const fs::path file = *this / "script.json";
    written_file(file, script.dump());
    Texts words{"--matrix",   matrix(),
                "--worker",   "new=" + kFake + " --script " + file.string() + loaded,
                "--worker",   "old=" + kFake + " --do ok" + loaded,
                "--no-report"};
    words.insert(words.end(), more.begin(), more.end());
    return said_by(&declare_run, store(), words);
  }
};

TEST_CASE("what noise leaves open is measured again with its reference, and then decided", "[cli][process]") {
  const NoisyPlace place;
  const Said said = place.run_with({{"new/3", "slow=1.5"}, {"new/9", "slow=0.5"}});
  CHECK(said.code == ExitCode::passed);
  CHECK_THAT(said.err, Contains("noise    short-mlp-new-cpu · throughput.step_time: ") &&
                           Contains("again    short-mlp-new-cpu  7 more repeats, 14 in all\n") &&
                           Contains("again    short-mlp-old-cpu  7 more repeats, 14 in all\n") &&
                           Contains("short-mlp-new-cpu  14 attempts\n"));
  const json verdict = place.file("verdict.json");
  for (const json& cell : verdict.at("cells")) CHECK(cell.at("attempts").size() == 14);
  CHECK(judge(load_run(place.run_folder().string())).exit_code == ExitCode::passed);
}

TEST_CASE("noise that stays leaves the cell undecided after the most that was planned", "[cli][process]") {
  const NoisyPlace place;
  const Said said = place.run_with({{"new/0", "slow=1.5"}, {"new/3", "slow=1.5"}, {"new/9", "slow=1.5"}});
  CHECK(said.code == ExitCode::undecided);
  CHECK_THAT(said.out, Contains("the interval of 14 pairs reaches"));
  CHECK_THAT(said.out, Contains("--repeat 28"));
}

TEST_CASE("nothing is measured again that is decided, that failed otherwise, or that was asked for exactly so often",
          "[cli][process]") {
  const auto attempts = [](const NoisyPlace& place) {
    std::size_t most = 0;
    const json verdict = place.file("verdict.json");
    for (const json& cell : verdict.at("cells")) most = std::max(most, cell.at("attempts").size());
    return most;
  };
  const json noisy{{"new/3", "slow=1.5"}};
  SECTION("quiet") {
    const NoisyPlace place;
    CHECK(place.run_with(json::object()).code == ExitCode::passed);
    CHECK(attempts(place) == 7);
  }
  SECTION("slower throughout") {
    const NoisyPlace place;
    CHECK(place.run_with({{"new", "slow=1.5"}}).code == ExitCode::failed);
    CHECK(attempts(place) == 7);
  }
  SECTION("noisy, and fails another check") {
    const NoisyPlace place("  numerics.final_loss: {max: 0.001}\n");
    CHECK(place.run_with(noisy).code == ExitCode::failed);
    CHECK(attempts(place) == 7);
  }
  SECTION("noisy, and another check can never be decided") {
    const NoisyPlace place("  numerics.final_loss: {max: 9}\n  memory.peak_rss: {max: 1GiB}\n");
    CHECK(place.run_with({{"new/3", "slow=1.5,drop_metric"}}).code == ExitCode::undecided);
    CHECK(attempts(place) == 7);
  }
  SECTION("one torch is held against itself, noisy or not") {
    const NoisyPlace place;
    const json script = GENERATE(json::object(), json{{"new/3", "slow=1.5"}});
    const Said said = place.run_with(script, {}, " --loaded /x/libtorch_cpu.so=1111");
    CHECK(said.code == ExitCode::undecided);
    CHECK_THAT(said.out, Contains("one torch is compared"));
    CHECK(attempts(place) == 7);
  }
  SECTION("the bound is only recorded") {
    const NoisyPlace place("  numerics.final_loss: {max: 9}\n");
    place.add_suite("short",
                    "schema: 1\nname: short\ndescription: d\nworkloads: [{model: mlp, preset: base, steps: 6, "
                    "batch_size: 32}]\nrepeat: 7\nmax_repeat: 14\nthresholds:\n  throughput.step_time: "
                    "{max_regression: 10%, vs: reference, gate: record_only}\n  numerics.final_loss: {max: 9}\n");
    CHECK(place.run_with(noisy).code == ExitCode::passed);
    CHECK(attempts(place) == 7);
  }
  SECTION("--repeat 7") {
    const NoisyPlace place;
    CHECK(place.run_with(noisy, {"--repeat", "7"}).code == ExitCode::undecided);
    CHECK(attempts(place) == 7);
  }
}

TEST_CASE("a candidate that computes while its reference has its turn gets no verdict on its speed", "[cli][process]") {
  const bool is_busy = GENERATE(false, true);
  const RunPlace place;
  place.add_suite("short",
                  "schema: 1\nname: short\ndescription: d\nworkloads: [{model: mlp, preset: base, steps: 6, "
                  "batch_size: 32}]\nrepeat: 7\nexclusive: true\nturns: 3\ntimeout: 5m\nthresholds:\n  "
                  "throughput.step_time: {max_regression: 10%, vs: reference}\n");
  const Said said =
      said_by(&declare_run, place.store(),
              {"--matrix", place.matrix(), "--worker", "new=" + kFake + " --do " + (is_busy ? "busy_wait" : "ok"),
               "--worker", "old=" + kFake + " --do ok", "--no-report"});
  CHECK(said.code == (is_busy ? ExitCode::undecided : ExitCode::passed));
  const json verdict = place.file("verdict.json");
  for (const json& cell : verdict.at("cells")) {
    CHECK(cell.at("attempts").size() == 7);
    for (const json& check : cell.at("checks")) {
      const bool is_of_time = check.at("metric") == "throughput.step_time";
      CHECK(check.at("reason") == (is_busy && is_of_time ? "busy_while_waiting" : "within_bound"));
    }
  }
}

}  // namespace
}  // namespace reprobench

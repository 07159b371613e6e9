// `--weights` of run, plan and compare with workers that only say what they are told to.
#include "ci/catch.hpp"
#include "ci/thrown.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"
#include "matrix/contract/attempt_memory.hpp"
#include "matrix/spec/files/weights_fixture.hpp"
#include "matrix/spec/spec_error.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using Texts = std::vector<std::string>;

// Two stacks are installed whose model `mlp` takes weights, and there is a file of such.
class WeightsPlace : public SmallProject {
 public:
  WeightsPlace() {
    add_suite("short",
              "schema: 1\nname: short\ndescription: d\nworkloads: [{model: mlp, preset: base, steps: 6, batch_size: "
              "32}]\ntrace: tensor\nrepeat: 1\ntimeout: 5m\nthresholds:\n  numerics.end_loss: {max: 9}\n");
    Capability capability = small_capability();
    capability.workloads.front().takes_weights = "Somebody's MLP";
    for (const char* stack : {"new", "old"}) install(stack, capability);
    weights.write_tensors("w.safetensors", {{"a", {2}, {1, 2}}});
  }

  std::string file() const { return weights.path("w.safetensors"); }
  Said plan(const Texts& more) const {
    Texts words{"--matrix", matrix()};
    words.insert(words.end(), more.begin(), more.end());
    return said_by(&declare_plan, store(), words);
  }
  Said run(const std::string& worker, const Texts& more) const {
    Texts words{"--matrix", matrix(), "--worker", "new=" + worker, "--worker", "old=" + worker, "--no-report"};
    words.insert(words.end(), more.begin(), more.end());
    return said_by(&declare_run, store(), words);
  }
  Texts runs() const {
    Texts found;
    if (!std::filesystem::exists(store() / "runs")) return found;
    for (const auto& entry : std::filesystem::directory_iterator(store() / "runs")) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }

  WeightsScene weights;
};

const std::string kTrains = REPROBENCH_BINARY_DIR "/reprobench-fake-worker --do ok";

nlohmann::json first_cell(const std::string& run) {
  return nlohmann::json::parse(read_file(run + "/plan.json")).at("cells").at(0);
}

TEST_CASE("cells with a user's weights are named by what the file holds, wherever it lies", "[cli][process]") {
  const WeightsPlace place;
  const auto ids = [&](Texts words) {
    words.emplace_back("--json");
    const auto plan = nlohmann::json::parse(place.plan(words).out);
    Texts found;
    for (const auto& cell : plan.at("cells")) found.push_back(cell.at("cell_id"));
    return found;
  };
  const Texts drawn = ids({});
  CHECK(drawn.size() == 2);
  const Texts loaded = ids({"--weights", place.file()});
  CHECK(loaded != drawn);
  std::filesystem::rename(place.file(), place.weights.path("moved.safetensors"));
  CHECK(ids({"--weights", place.weights.path("moved.safetensors")}) == loaded);
  place.weights.write_tensors("w.safetensors", {{"a", {2}, {1, 3}}});
  const Texts others = ids({"--weights", place.file()});
  CHECK(others != loaded);
  CHECK(others != drawn);
  CHECK_THAT(place.plan({"--weights", place.file()}).out,
             Contains("weights: " + place.file() + ", sha256 " + sha256_of_text(place.weights.text("w.safetensors"))));
}

TEST_CASE("a run hands weights to its workers, says so, and lets bands of learning only record", "[cli][process]") {
  const WeightsPlace place;
  const Said said = place.run(kTrains, {"--weights", place.file()});
  INFO(said.err << said.out);
  REQUIRE(place.runs().size() == 1);
  const auto cell = first_cell(place.runs().front());
  CHECK(cell.at("weights_file") == place.file());
  CHECK(cell.at("request").at("workload").at("weights_sha256") == sha256_of_text(place.weights.text("w.safetensors")));
  CHECK_THAT(said.out, Contains("--weights " + place.file()));
  CHECK(cell.at("thresholds").dump().find("record_only") != std::string::npos);
  place.run(kTrains, {});
  CHECK(first_cell(place.runs().back()).at("thresholds").dump().find("record_only") == std::string::npos);
}

TEST_CASE("runs from other weights are not comparable", "[cli][process]") {
  const WeightsPlace place;
  place.run(kTrains, {"--weights", place.file(), "--out", place / "a"});
  place.weights.write_tensors("w.safetensors", {{"a", {2}, {1, 3}}});
  place.run(kTrains, {"--weights", place.file(), "--out", place / "b"});
  const Said said = said_by(&declare_compare, place.store(), {place / "a", place / "b"});
  INFO(said.err << said.out);
  CHECK_THAT(said.out, Contains("weights ") && Contains(" against "));
  CHECK(said.code == ExitCode::undecided);
}

TEST_CASE("what a worker has against weights ends the command before anything runs", "[cli][process]") {
  const WeightsPlace place;
  AttemptMemory need;
  need.why_not = "a test";
  need.weights_problems = {"these weights are not mlp/base's", "`a` is nothing of mlp/base"};
  MemoryPredictions answer;
  answer.needs = {need};
  const auto text = written_file(place / "answer.json", to_json(answer).dump());
  const auto worker = written_file(place / "worker",
                                   fmt::format("#!/bin/sh\n[ \"$1\" = predict ] && exec cat '{}'\nexec {} \"$@\"\n",
                                               text.string(), REPROBENCH_BINARY_DIR "/reprobench-fake-worker"),
                                   /*is_program=*/true);
  const std::string expected = place.file() + ": error[RB042]: these weights are not mlp/base's\n" + place.file() +
                               ": error[RB042]: `a` is nothing of mlp/base";
  for (const Texts& more : {Texts{"--weights", place.file()}, Texts{"--weights", place.file(), "--dry-run"}}) {
    CHECK(message_of<SpecError>([&] { place.run(worker, more); }) == expected);
  }
  CHECK(place.runs().empty());
}

TEST_CASE("weights for a comparison of runs, and a file that is none, are refused", "[cli][process]") {
  const WeightsPlace place;
  place.run(kTrains, {"--out", place / "a"});
  CHECK_THROWS_WITH(said_by(&declare_compare, place.store(), {place / "a", "--weights", place.file()}),
                    "--weights trains anew, so it needs two stacks");
  place.weights.write("w.safetensors", "x");
  CHECK_THROWS_WITH(place.plan({"--weights", place.file()}), Contains("error[RB041]: no whole safetensors file"));
  CHECK_THROWS_WITH(said_by(&declare_compare, place.store(), {"new", "old", "--weights", place.file()}),
                    Contains("error[RB041]: no whole safetensors file"));
}

}  // namespace
}  // namespace reprobench

// Verbs that run something on installed stacks, whose workers are the fake one: compare, calibrate, selftest.
#include "ci/catch.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using nlohmann::json;
using Texts = std::vector<std::string>;

struct TwoStacks : SmallProject {
  TwoStacks() {
    install("new", small_capability());
    install("old", small_capability("2.8.0"));
  }
  Said say(Declare declare, const Texts& words) const { return said_by(declare, store(), words); }
};

TEST_CASE("two stacks are compared by a run of one workload on each", "[cli][process]") {
  const TwoStacks place;
  Texts words{"new", "old", "--model", "mlp", "--preset", "base", "--steps", "5"};
  const Said said = place.say(&declare_compare, words);
  CHECK(said.err == "running mlp on both stacks\n");
  CHECK(said.out ==
        "new against old: mlp/base, 5 steps of 32, fp32\n"
        "  equal       equal bits in all that 5 steps digested\n"
        "  changed     torch: `new` against `old`\n"
        "1 pair compared: 1 equal (exit 0)\n");
  CHECK(said.code == ExitCode::passed);
  words.insert(words.end(), {"--knob", "threads=2", "--knob-a", "tf32=on", "--knob-b", "threads=3", "--json"});
  const json document = json::parse(place.say(&declare_compare, words).out);
  std::map<std::string, std::string> changed;
  for (const json& difference : document.at("differences")) changed[difference.at("what")] = difference.dump();
  CHECK_THAT(changed["knob threads"], Contains("\"2\"") && Contains("\"3\""));
  CHECK_THAT(changed["knob tf32"], Contains("\"on\"") && Contains("\"off\""));
}

TEST_CASE("replays are kept where that is asked, and said to be", "[cli][process]") {
  const TwoStacks place;
  const Texts words{"new", "old", "--model", "mlp", "--steps", "4", "--keep"};
  CHECK_THAT(place.say(&declare_compare, words).err,
             Contains("replays are in " + (place.store() / "replays").string() + "\n"));
  CHECK_FALSE(std::filesystem::is_empty(place.store() / "replays"));
}

TEST_CASE("the drift around a stack is measured once, and known from then on", "[cli][process]") {
  const TwoStacks place;
  Texts words{"new", "--model", "mlp", "--steps", "5", "--members", "2"};
  const Said said = place.say(&declare_calibrate, words);
  CHECK(said.code == ExitCode::passed);
  CHECK(said.err == "running mlp on new\nrunning 2 members around new\n");
  const std::string file = std::filesystem::directory_iterator(place.store() / "baselines")->path();
  const std::string table =
      "new: 2 runs with one weight moved by 1 ulp\n"
      "  steps   furthest member, relative L2 of the parameters\n"
      "  1       0\n"
      "  4       0\n"
      "  5       0\n"
      "  horizon: not reached\n";
  CHECK(said.out == table + "  written to " + file + "\n");
  const Said again = place.say(&declare_calibrate, words);
  CHECK(again.out == table + "  known from " + file + "\n");
  CHECK(again.err == "running mlp on new\n");
  words.emplace_back("--again");
  CHECK(place.say(&declare_calibrate, words).out == said.out);
  words.back() = "--json";
  CHECK(json::parse(place.say(&declare_calibrate, words).out).at("members") == 2);
}

// The fake worker leaves no gradients.
TEST_CASE("a calibration of lockstep keeps nothing where the stack's worker cannot answer", "[cli][process]") {
  const TwoStacks place;
  Texts words{"new", "--lockstep", "--model", "mlp", "--steps", "4", "--batches", "8", "--against", "old"};
  CHECK_THROWS_WITH(place.say(&declare_calibrate, words), Contains("a replay did not leave what it was asked for"));
  CHECK_FALSE(std::filesystem::exists(place.store() / "baselines"));
  words.back() = "new";
  CHECK_THROWS_WITH(place.say(&declare_calibrate, words), Contains("--against takes another stack than new"));
  words.back() = "odl";
  CHECK_THROWS_WITH(place.say(&declare_calibrate, words), Contains("no stack `odl`; did you mean `old`?"));
}

TEST_CASE("a stack that nobody knows or has cannot be calibrated", "[cli]") {
  const SmallProject place;
  CHECK_THROWS_WITH(said_by(&declare_calibrate, place.store(), {"nwe"}),
                    Contains("no stack `nwe`; did you mean `new`?"));
  CHECK_THROWS_WITH(said_by(&declare_calibrate, place.store(), {"new"}), Contains("run: reprobench stack install new"));
  place.add_stack("bad", "schema: [");
  CHECK_THROWS_AS(said_by(&declare_calibrate, place.store(), {"bad"}), SpecError);
}

// What a selftest on the fake worker ends with, which has no parameter to plant a fault in.
std::string selftest_refused(const SmallProject& place, const Texts& words, std::string* err = nullptr) {
  const Caught caught(STDERR_FILENO);
  try {
    said_by(&declare_selftest, place.store(), words);
  } catch (const std::exception& error) {
    if (err != nullptr) *err = caught.text();
    return error.what();
  }
  return "it ended";
}

TEST_CASE("a selftest takes the first stack that is installed with its worker, and workloads with a preset",
          "[cli][process]") {
  const SmallProject place;
  CHECK(selftest_refused(place, {}) == "no stack is installed; run: reprobench stack install torch-2.8.0-cu128");
  place.install("new", small_capability(), /*with_worker=*/false);
  CHECK(selftest_refused(place, {}) == "no stack is installed; run: reprobench stack install torch-2.8.0-cu128");
  place.install("old", small_capability());
  CHECK(selftest_refused(place, {"--workload", "mlp"}) == "--workload takes MODEL/PRESET, got mlp");
  CHECK_THAT(selftest_refused(place, {"--workload", "mlp/base", "--batches", "0"}),
             Contains("mlp/base: no parameter to plant"));
  CHECK_THAT(selftest_refused(place, {"--workload", "gpt2/tiny"}), Contains("gpt2"));
  CHECK_THAT(selftest_refused(place, {"--stack", "new"}), Contains("run: reprobench stack install new"));
}

}  // namespace
}  // namespace reprobench

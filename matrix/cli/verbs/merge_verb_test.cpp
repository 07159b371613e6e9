// `merge` of two runs of the fake worker.
#include "ci/catch.hpp"
#include "matrix/cli/verbs/run_verb_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

TEST_CASE("two runs are merged into one, once, with the inputs and comparisons of both", "[cli][process]") {
  const RunPlace place;
  const FakePython python(place, "echo written\n");
  place.run("ok", {"--out", (place / "first").string()});
  place.run("drift=5", {"--out", (place / "second").string()});
  place.say(&declare_compare, {(place / "second").string()});
  const Texts words{"alpha=" + (place / "first").string(), "beta=" + (place / "second").string(), "--out",
                    (place / "merged").string()};
  const Said said = place.say(&declare_merge, words);
  INFO(said.err << said.out);
  CHECK(said.err == "written\nrun " + (place / "merged").string() + "\n");
  const std::string run_of_first = json::parse(read_file(place / "first/run.json")).at("run_id");
  const std::string cpu = json::parse(read_file(place / "merged/plan.json")).at("host").at("cpu_model");
  CHECK_THAT(said.out, Contains("host          alpha: 2 cells of run " + run_of_first + "; " + cpu + "\n"));
  CHECK_THAT(said.out, Contains("host          beta: 2 cells of run "));
  const json merged = json::parse(read_file(place / "merged/verdict.json"));
  CHECK(merged.at("cells").size() == 4);
  for (const json& cell : merged.at("cells")) CHECK_FALSE(cell.at("attempts").empty());
  CHECK(said.code == static_cast<ExitCode>(merged.at("exit_code").get<int>()));
  CHECK(json::parse(read_file(place / "merged/comparisons.json")).at("comparisons").size() == 1);
  CHECK(json::parse(read_file(place / "merged/run.json")).at("command_line").at(0) == words[0]);
  CHECK(fs::exists(place / "merged/inputs/matrix.yaml"));
  CHECK(fs::exists(place / "merged/inputs/stack-new.yaml"));
  CHECK_FALSE(fs::exists(place / ".merged.merging"));

  fs::remove(place / "merged/verdict.json");
  Texts quiet = words;
  quiet.insert(quiet.end(), {"--json", "--no-report"});
  const Said again = place.say(&declare_merge, quiet);  // which is there already
  CHECK(json::parse(again.out) == merged);
  CHECK(again.err == "run " + (place / "merged").string() + "\n");

  const Texts backwards{words[1], words[0], "--out", (place / "merged").string()};
  Texts other{words[0], "gamma=" + (place / "second").string(), "--out", (place / "merged").string()};
  CHECK_THROWS_WITH(place.say(&declare_merge, other), Contains(", which is not made of these"));
  other.back() = (place / "bin").string();
  CHECK_THROWS_WITH(place.say(&declare_merge, other), (place / "bin").string() + " is not empty and holds no run");
  CHECK_THROWS_WITH(place.say(&declare_merge, {"a b=" + (place / "first").string()}),
                    "`a b` is no label of a host: letters, digits, `.`, `_` and `-`");
}

TEST_CASE("inputs of two runs that differ are both kept, and equal ones once", "[cli][process]") {
  const RunPlace place;
  place.run("ok", {"--out", (place / "first").string()});
  place.run("ok", {"--out", (place / "second").string()});
  written_file(place / "second/inputs/stack-old.yaml", "another");
  fs::create_directories(place / "second/inputs/folder");
  fs::create_directories(place / "third=run");
  fs::copy(place / "second", place / "third=run", fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  place.say(&declare_merge, {"alpha=" + (place / "first").string(), (place / "third=run").string(), "--no-report",
                             "--out", (place / "merged").string()});
  const std::string second = json::parse(read_file(place / "second/run.json")).at("run_id");
  Texts inputs;
  for (const auto& entry : fs::directory_iterator(place / "merged/inputs")) inputs.push_back(entry.path().filename());
  std::sort(inputs.begin(), inputs.end());
  CHECK(inputs ==
        Texts{"matrix.yaml", second + ".stack-old.yaml", "stack-new.yaml", "stack-old.yaml", "suite-short.yaml"});
  CHECK(read_file(place / "merged/inputs" / (second + ".stack-old.yaml")) == "another");
}

}  // namespace
}  // namespace reprobench

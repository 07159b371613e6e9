// `compare` of runs and cells of the fake worker: words, counts and exit codes.
#include "ci/catch.hpp"
#include "matrix/cli/text/compared_words.hpp"
#include "matrix/cli/verbs/run_verb_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

TEST_CASE("a run compared alone holds its cells against their references, and says its count and code",
          "[cli][process]") {
  const RunPlace place;
  place.run("drift=5");
  const FakePython python(place, "echo written\n");
  const Said said = place.say(&declare_compare, {});
  CHECK(said.code == ExitCode::failed);
  CHECK_THAT(
      said.out,
      Catch::StartsWith("short-mlp-new-cpu against short-mlp-old-cpu: mlp/base, 6 steps of 32, fp32\n  differs ") &&
          Contains("first difference in step 5") && Catch::EndsWith("\n1 pair compared: 0 equal, 1 differ (exit 1)\n"));
  CHECK(said.err == "written\n");
  CHECK(place.file("comparisons.json").at("comparisons").size() == 1);
  fs::remove(place.run_folder() / "comparisons.json");

  const Said as_json = place.say(&declare_compare, {"--json"});
  CHECK(json::parse(as_json.out).at("schema") == "reprobench/comparisons");
  CHECK(as_json.err == "written\n1 pair compared: 0 equal, 1 differ (exit 1)\n");
  fs::remove(place.run_folder() / "comparisons.json");

  const Said one = place.say(&declare_compare, {"short-mlp-new-cpu", "--json"});
  CHECK(json::parse(one.out).at("schema") == "reprobench/comparisons");
  CHECK_FALSE(fs::exists(place.run_folder() / "comparisons.json"));  // of one cell alone

  const std::string run = place.run_folder().string();
  const RunPlace beside;
  beside.run("drift=5");
  const std::string other = beside.run_folder().string();
  const Said alike = place.say(&declare_compare, {run + ":short-mlp-old-cpu", other + ":short-mlp-old-cpu", "--json"});
  CHECK(alike.code == ExitCode::passed);
  CHECK(json::parse(alike.out).at("schema") == "reprobench/comparison");
  CHECK(json::parse(alike.out).at("word") == "equal");
  const Said quiet = place.say(&declare_compare, {run, other, "--only-changed"});
  CHECK(quiet.code == ExitCode::passed);
  CHECK(quiet.out == "2 pairs compared: 2 equal (exit 0)\n");
  CHECK_THAT(place.say(&declare_compare, {run, other}).out, Contains("short-mlp-old-cpu"));
}

TEST_CASE("a run is not the equal of itself, under whatever name", "[cli][process]") {
  const RunPlace place;
  place.run();
  const fs::path copy = place / "copy";
  fs::copy(place.run_folder(), copy, fs::copy_options::recursive);
  for (const std::string& other : {place.run_folder().string(), copy.string()}) {
    const Said said = place.say(&declare_compare, {place.run_folder().string(), other});
    CHECK(said.code == ExitCode::undecided);
    CHECK_THAT(said.out, Contains("one and the same process") &&
                             Catch::EndsWith("2 pairs compared: 0 equal, 2 not comparable (exit 3)\n"));
  }
}

TEST_CASE("words of a comparison are refused where they can mean nothing", "[cli][process]") {
  const RunPlace place;
  const auto compare = [&](const Texts& words) { return place.say(&declare_compare, words); };
  CHECK_THROWS_WITH(compare({"new", "old"}), Contains("run: reprobench stack install new old"));
  place.run();
  const std::string run = place.run_folder().string();
  CHECK_THROWS_WITH(compare({"a.safetensors", run}), "a .safetensors file can only be compared with another");
  CHECK_THROWS_WITH(compare({run, "a.safetensors"}), "a .safetensors file can only be compared with another");
  CHECK_THROWS_WITH(compare({"new", run}),
                    "stack `new` can only be compared with another stack, and `" + run + "` is none");
  for (const auto& words : {std::vector<std::string>{"nwe", "new"}, {"new", "nwe"}}) {
    CHECK_THROWS_WITH(compare(words), Contains("no run, cell of the newest run, or stack `nwe`; did you mean `new`?"));
  }
  CHECK_THROWS_WITH(compare({run, run, "--seeds", "5"}), "--seeds trains anew, so it needs two stacks");
  CHECK_THROWS_WITH(compare({run, "--knob", "tf32"}), "--knob takes NAME=VALUE, got tf32");
  CHECK_THROWS_WITH(compare({run, "--knob-a", "tf23=on"}), Contains("no knob `tf23`; did you mean `tf32`?"));
  CHECK_THROWS_WITH(compare({run, "--knob-b", "tf32=no"}), Contains("no value of knob `tf32` `no`"));
  CHECK_THROWS_WITH(compare({run, "--knob", "threads=0"}), "knob `threads` takes a positive integer, got `0`");
  CHECK_THROWS_WITH(compare({"nwe"}), Contains("no run, cell of the newest run, or stack `nwe`; did you mean `new`?"));
  CHECK_THROWS_WITH(compare({run + ":short-mlp-nwe-cpu"}), Contains("short-mlp-nwe-cpu"));
}

TEST_CASE("a word is a run, a cell of a run, or a cell of the newest one", "[cli][process]") {
  const RunPlace place;
  const auto named = [&](const std::string& word) {
    return run_cells_named(place.project(), place.project().stacks(), word);
  };
  CHECK_THROWS_WITH(named("nwe"), Contains("no run, cell of the newest run, or stack `nwe`; did you mean `new`?") &&
                                      !Contains("not known"));
  place.run();
  const fs::path folder = place.run_folder();
  const std::string id = place.file("plan.json").at("cells").at(0).at("cell_id");
  for (const std::string& word : {std::string(), folder.filename().string(), folder.string()}) {
    CHECK(named(word).folder == folder);
    CHECK(named(word).cell.empty());
  }
  CHECK(named(folder.filename().string() + ":any").folder == folder);
  CHECK(named(folder.filename().string() + ":any").cell == "any");
  for (const std::string& word : {id, id.substr(0, 5), std::string("short-mlp-new-cpu")}) {
    CHECK(named(word).folder == folder);
    CHECK(named(word).cell == id);
  }
  CHECK_THROWS_WITH(named("short-mlp-nwe-cpu"),
                    Contains("did you mean `short-mlp-new-cpu`?") && !Contains("not known"));
  CHECK_THROWS_WITH(named("new"), "stack `new` can only be compared with another stack");
  place.add_stack("bad", "schema: [");
  CHECK_THROWS_AS(named("bad"), SpecError);
  written_file(folder / "plan.json", "{");
  CHECK_THROWS_WITH(named("odl"), Contains("did you mean `old`?; the cells of the newest run are not known: "));
}

}  // namespace
}  // namespace reprobench

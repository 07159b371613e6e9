// Runs of the fake worker in this process: what `run` says while it goes on and at its end, and what the verbs that
// take a run then say of it.
#include <regex>

#include "ci/catch.hpp"
#include "matrix/cli/text/compared_words.hpp"
#include "matrix/cli/verbs/run_options.hpp"
#include "matrix/cli/verbs/run_verb_fixture.hpp"
#include "matrix/cli/verdict_files.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/record/result_index.hpp"
#include "matrix/record/verdict_seal.hpp"
#include "matrix/verdict/judge.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

// A `python3` that has every module and writes this, for the time of a test.
struct FakePython {
  FakePython(const SmallProject& project, const std::string& body)
      : setting("REPROBENCH_PYTHON",
                written_file(project / "bin/python3", "#!/bin/sh\n[ \"$3\" = -c ] && exit 0\n" + body, true).string()) {
  }
  TemporaryVariable setting;
};

TEST_CASE("a run says its plan, each cell and its folder on stderr, and its verdict on stdout", "[cli][process]") {
  const RunPlace place;
  const Said said = place.run();
  INFO(said.err << said.out);
  CHECK(said.code == ExitCode::passed);
  const std::string id = place.run_folder().filename();
  CHECK(said.err ==
        "plan small: 2 cells, 2 runnable, 0 skipped; run " + id +
            "\npresets not checked, because no installed worker describes these models: mlp/base\n"
            "memory not predicted for 2 cells: its worker cannot say (2)\n"
            "[1/2] ran      short-mlp-new-cpu  1 attempt\n[2/2] ran      short-mlp-old-cpu  1 attempt\nrun " +
            place.run_folder().string() + "\n");
  CHECK_THAT(said.out, Contains("2 planned: 2 passed\nVerdict PASSED (exit 0)\n") &&
                           Contains("run with --worker new --worker old"));
  CHECK_FALSE(fs::exists(place.run_folder() / "tensorboard"));
}

TEST_CASE("a run leaves what it was asked, with which words and when, and all files of its verdict", "[cli][process]") {
  const RunPlace place;
  const Said said = place.run("ok", {"--json"});
  const json verdict = json::parse(said.out);
  CHECK(verdict == place.file("verdict.json"));
  CHECK(verdict.at("word") == "passed");
  const json info = place.file("run.json");
  CHECK(info.at("run_id") == place.run_folder().filename().string());
  CHECK(info.at("command_line").at(0) == "--matrix");
  CHECK(info.at("matrix_digest") == sha256_of_text(read_file(place / "matrix.yaml")));
  CHECK(info.at("reprobench_version") == kProjectVersion);
  CHECK(info.at("program_sha256") == sha256_of_file("/proc/self/exe"));
  CHECK(info.at("duration_ns") > 0);
  CHECK(info.at("started_utc") <= info.at("ended_utc"));
  CHECK_FALSE(info.at("interrupted").get<bool>());
  CHECK(fs::exists(place.run_folder() / "junit.xml"));
  Texts inputs;
  for (const auto& entry : fs::directory_iterator(place.run_folder() / "inputs"))
    inputs.push_back(entry.path().filename());
  std::sort(inputs.begin(), inputs.end());
  CHECK(inputs == Texts{"matrix.yaml", "stack-new.yaml", "stack-old.yaml", "suite-short.yaml"});
  CHECK(read_file(place.run_folder() / "inputs/matrix.yaml") == read_file(place / "matrix.yaml"));
  CHECK(read_file(place.run_folder() / "inputs/stack-old.yaml") == small_stack("old", "2.8.0"));
  const json request = place.file("plan.json").at("request");
  CHECK(request.at("changed_by") == json({"--worker new", "--worker old"}));
  CHECK(request.at("overrides") ==
        json({"--worker 'new=" + kFake + " --do ok'", "--worker 'old=" + kFake + " --do ok'"}));
  CHECK(json::parse(place.say(&declare_list, {"runs", "--json"}).out).at("entries").size() == 1);
}

TEST_CASE("a listed run has the verdict that its folder has now, not the one of the index", "[cli][process]") {
  const RunPlace place;
  place.run();
  const auto word = [&] {
    const json listed = json::parse(place.say(&declare_list, {"runs", "--json"}).out).at("entries");
    REQUIRE(listed.size() == 1);
    return listed.at(0).at("summary").get<std::string>();
  };
  const std::string given = place.file("verdict.json").at("word");
  CHECK_THAT(word(), Contains("  " + given));
  const fs::path file = place.run_folder() / "verdict.json";
  const std::string text = read_file(file);
  written_file(file, text + " ");
  CHECK_THAT(word(), Contains("refused: its verdict changed after it was given"));
  fs::remove(file);
  CHECK_THAT(word(), Contains("refused: its verdict.json is missing"));
  written_file(file, text);
  CHECK_THAT(word(), Contains("  " + given));
  fs::rename(place.run_folder(), place / "elsewhere");
  CHECK_THAT(word(), Contains("gone: its folder is no longer there"));
}

TEST_CASE("a candidate of which a stale `where` takes the memory check is undecided, and the first screen says why",
          "[cli][process]") {
  const RunPlace place;
  place.add_suite(
      "short",
      "schema: 1\nname: short\ndescription: d\nworkloads: [{model: mlp, preset: base, steps: 6, batch_size: "
      "32}]\nrepeat: 1\ntimeout: 5m\nthresholds:\n  numerics.final_loss: {max: 9}\n"
      "  memory.peak_anonymous: {max_regression: 10%, vs: reference}\n");
  const auto run = [&](const char* former, const char* reference) {
    const std::string matrix =
        written_file(place / "candidate.yaml",
                     fmt::format("schema: 1\nname: candidate\nsuites: [short]\naxes: {{stack: [new, old]}}\n"
                                 "reference: {{stack: {}}}\nrequired: [{{stack: new}}]\nthresholds:\n"
                                 "  memory.peak_anonymous: {{gate: record_only, where: \"stack != {}\"}}\n",
                                 reference, former));
    Said said = place.run("rss=1.85", {}, matrix);
    std::replace(said.out.begin(), said.out.end(), '\n', ' ');
    said.out = std::regex_replace(said.out, std::regex(" +"), " ");
    return said;
  };
  CHECK(run("new", "old").code == ExitCode::failed);
  const Said stale = run("old", "old");
  CHECK(stale.code == ExitCode::undecided);
  CHECK_THAT(stale.out, Contains("INCONCLUSIVE short-mlp-new-cpu · unarmed memory.armed_checks: no check of memory is "
                                 "armed: `memory.peak_anonymous` of ") &&
                            Contains("candidate.yaml:8:26, where `stack != old`") && Contains("Verdict UNDECIDED"));
  const Said own = run("new", "new");
  CHECK(own.code == ExitCode::undecided);
  CHECK_THAT(own.out, Contains("short-mlp-new-cpu · own_reference memory.reference: this cell is its own reference"));
}

TEST_CASE("only the inputs of stacks that are in the plan are kept", "[cli][process]") {
  const RunPlace place;
  place.add_suite("other",
                  "schema: 1\nname: other\ndescription: d\nworkloads: [{model: mlp, preset: base, steps: 1, "
                  "batch_size: 32}]\n");
  place.run("ok", {"--stack", "old", "--out", (place / "mine").string()});
  CHECK(fs::exists(place / "mine/inputs/stack-old.yaml"));
  CHECK(read_file(place / "mine/inputs/suite-short.yaml") == read_file(place.root() / "suites/definitions/short.yaml"));
  CHECK_FALSE(fs::exists(place / "mine/inputs/suite-other.yaml"));
  CHECK_FALSE(fs::exists(place / "mine/inputs/stack-new.yaml"));
  CHECK_FALSE(fs::exists(place.store() / "runs"));
}

// Both stacks are installed, and the worker of `new` says that it has mapped `loaded`.
struct InstalledPlace : RunPlace {
  explicit InstalledPlace(const std::string& loaded) {
    install("new", small_capability(), true, loaded);
    install("old", small_capability("2.8.0"));
  }
  Said run_installed() const { return say(&declare_run, {"--matrix", matrix(), "--no-report"}); }
};

TEST_CASE("workers that load what is installed of their stacks qualify", "[cli][process]") {
  const InstalledPlace place("site/torch/lib/libtorch_cpu.so");
  const Said said = place.run_installed();
  INFO(said.err << said.out);
  CHECK(said.code == ExitCode::passed);
  CHECK_THAT(said.out, Contains("small qualified on cpu"));
  const json installed = place.file("plan.json").at("installed");
  CHECK(installed.at("new").at("libraries").at(0).at("sha256") == sha256_of_text("torch of new"));
  CHECK(installed.size() == 2);
}

TEST_CASE("a worker that loads another torch leaves the run undecided, and the first screen says which",
          "[cli][process]") {
  const InstalledPlace place("/elsewhere/site/torch/lib/libtorch_cpu.so=28");
  const Said said = place.run_installed();
  INFO(said.err << said.out);
  CHECK(said.code == ExitCode::undecided);
  CHECK_THAT(said.out, Contains("small UNDECIDED") && Contains("short-mlp-new-cpu · wrong_libraries") &&
                           Contains("finding       new: /elsewhere/site/torch/lib/libtorch_cpu.so was loaded"));
  CHECK(place.file("verdict.json").at("cells").at(0).at("sentence") ==
        "/elsewhere/site/torch/lib/libtorch_cpu.so was loaded with build id 28; site/torch/lib/libtorch_cpu.so without "
        "a build id is installed");
}

TEST_CASE("a dry run shows the plan and makes nothing", "[cli]") {
  const RunPlace place;
  const Said said = place.run("ok", {"--dry-run"});
  CHECK(said.code == ExitCode::passed);
  CHECK_THAT(said.out, Catch::StartsWith("plan small: 2 cells, 2 runnable, 0 skipped\nrunnable "));
  CHECK(said.err == "memory not predicted for 2 cells: its worker cannot say (2)\n");
  CHECK_FALSE(fs::exists(place.store()));
}

TEST_CASE("a drill is said first, and what it plants", "[cli][process]") {
  const RunPlace place;
  const Said said = place.run("ok", {"--inject", "kind=weight_ulp,step=3,tensor=fc1.weight,stack=new"});
  CHECK_THAT(said.err, Catch::StartsWith("DRILL         planted: "));
  CHECK_THAT(said.out, Catch::StartsWith("DRILL         planted: "));
}

TEST_CASE("a cell that fails by its attempts is shown once, one that fails by a check when its reference has ended",
          "[cli][process]") {
  const RunPlace place;
  const Said crashed = place.run("crash=3");
  CHECK(crashed.code == ExitCode::failed);
  CHECK_THAT(crashed.err, Contains("trouble  short-mlp-new-cpu  crash: ") && !Contains("failed   "));
  const RunPlace other;
  other.add_suite(
      "short",
      "schema: 1\nname: short\ndescription: d\nworkloads: [{model: mlp, preset: base, steps: 6, batch_size: "
      "32}]\ntrace: tensor\nrepeat: 1\ntimeout: 5m\nthresholds:\n  numerics.final_loss: {max: 0.001, where: "
      "{stack: new}}\n");
  const Said failed = other.run();
  CHECK(failed.code == ExitCode::failed);
  CHECK_THAT(failed.err, Contains("failed   short-mlp-new-cpu · numerics.final_loss: "));
}

TEST_CASE("a report is asked for unless it is left out, its trouble is said and the verdict stays", "[cli][process]") {
  const RunPlace place;
  {
    const FakePython python(place, "echo \"$4/report.html\"\n");
    const Said said = place.run("ok", {"--report"});
    CHECK_THAT(said.err, Contains(place.run_folder().string() + "/report.html\nrun "));
    CHECK(fs::exists(place.run_folder() / "tensorboard/short-mlp-new-cpu/repeat-0"));
    const Said again = place.say(&declare_report, {});
    CHECK(again.code == ExitCode::passed);
    CHECK(again.out == place.run_folder().string() + "/report.html\n");
  }
  const FakePython broken(place, "echo no >&2; exit 1\n");
  CHECK_THROWS_WITH(place.say(&declare_report, {}), "the report generator ended with 1: no");
  const Said said = place.run("ok", {"--report", "--out", (place / "mine").string()});
  CHECK(said.code == ExitCode::passed);
  CHECK_THAT(said.err, Contains("report: the report generator ended with 1: no\nrun "));
}

TEST_CASE("no page outlives the verdict that it shows, also where the generator fails", "[cli][process]") {
  const RunPlace place;
  place.run();
  const fs::path report = place.run_folder() / "report";
  fs::create_directories(report);
  for (const char* name : {"report.html", "summary.md", "checks.csv", "measurements.csv", "phases.csv", "notes.txt"}) {
    written_file(report / name, "PASSED");
  }
  const FakePython broken(place, "echo no >&2; exit 1\n");
  CHECK_THROWS_WITH(place.say(&declare_report, {}), Contains("ended with 1"));
  CHECK(fs::exists(report / "report.html"));  // of the verdict that still stands
  CHECK_THROWS_WITH(place.say(&declare_report, {"--rejudge"}), Contains("ended with 1"));
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(report)) left.push_back(entry.path().filename());
  CHECK(left == std::vector<std::string>{"notes.txt"});
}

TEST_CASE("a report judges what has no verdict, and again what is asked, and refuses what changed since",
          "[cli][process]") {
  const RunPlace place;
  place.run();
  const FakePython python(place, "echo ok\n");
  const json before = place.file("verdict.json");
  fs::remove(place.run_folder() / "verdict.json");
  fs::remove(place.run_folder() / "junit.xml");
  CHECK(place.say(&declare_report, {place.run_folder().filename()}).out == "ok\n");
  CHECK(place.file("verdict.json") == before);
  CHECK(fs::exists(place.run_folder() / "junit.xml"));
  json changed = before;
  changed["sentence"] = "something else";
  written_file(place.run_folder() / "verdict.json", changed.dump());
  const fs::path page = place.run_folder() / "report" / "report.html";
  fs::create_directory(page.parent_path());
  written_file(page, "PASSED");
  CHECK_THROWS_WITH(place.say(&declare_report, {}), Contains("verdict.json changed since it was judged"));
  CHECK_FALSE(fs::exists(page));  // it would outlive what it says
  CHECK_THROWS_WITH(place.say(&declare_compare, {place.run_folder().string()}),
                    Contains("verdict.json changed since it was judged"));
  CHECK_THROWS_WITH(place.say(&declare_merge, {place.run_folder().string(), place.run_folder().string()}),
                    Contains("verdict.json changed since it was judged"));
  place.say(&declare_report, {"--rejudge"});
  CHECK(place.file("verdict.json") == before);
  CHECK(place.file("verdict.json.changed") == changed);
  // A copy that lost the end of its journal would vouch for any verdict.
  const std::string journal = read_file(place.run_folder() / "journal.jsonl");
  written_file(place.run_folder() / "journal.jsonl", std::string(journal_before_verdicts(journal)));
  CHECK_THROWS_WITH(place.say(&declare_report, {}), Contains("has no line in journal.jsonl that vouches for it"));
  CHECK_THROWS_WITH(place.say(&declare_merge, {place.run_folder().string(), place.run_folder().string()}),
                    Contains("has no line in journal.jsonl that vouches for it"));
  place.say(&declare_report, {"--rejudge"});
  CHECK(place.file("verdict.json") == before);
  CHECK(place.say(&declare_report, {}).out == "ok\n");
  for (const auto& entry : fs::recursive_directory_iterator(place.run_folder() / "cells")) {
    if (entry.path().filename() == "trace.jsonl") std::ofstream(entry.path(), std::ios::app) << "more\n";
  }
  CHECK_THROWS_WITH(place.say(&declare_report, {}),
                    Contains("trace.jsonl changed since it was judged; `report --rejudge` judges what there is"));
  CHECK_THROWS_WITH(place.say(&declare_report, {"r-none"}), Contains("no run `r-none`"));
}

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

TEST_CASE("operator calls are shown by release, as a page, as pairs and as a document", "[cli][process]") {
  const RunPlace place;
  written_file(place.root() / "suites/operators/few.yaml",
               "schema: 1\nname: few\ncalls:\n  - {call: 'exp(f32[N, 8])', with: [{N: 2}, {N: 3}]}\n");
  place.add_suite(
      "operators",
      "schema: 1\nname: operators\ndescription: d\nworkloads: [{probe: operators, preset: base, samples: 3, "
      "calls: few}]\nrepeat: 1\ntimeout: 5m\nthresholds:\n  numerics.changed_calls: {max: 0, gate: "
      "record_only}\n");
  const std::string matrix =
      written_file(place / "calls.yaml",
                   "schema: 1\nname: calls\nsuites: [operators]\naxes:\n  stack: [new, old]\n  device: [cpu]\n"
                   "reference: {stack: old}\n");
  CHECK(place.run("ok_other_bits", {}, matrix).code == ExitCode::undecided);
  const auto atlas = [&](const Texts& words) { return place.say(&declare_atlas, words).out; };
  CHECK_THAT(atlas({}), Catch::StartsWith("2 calls on 2 stacks against old; ") && Contains("exp(f32[3, 8])\n") &&
                            !Contains("exp(f32[2, 8])"));
  CHECK(atlas({place.run_folder().filename()}) == atlas({}));
  CHECK_THAT(atlas({"--all"}), Contains("exp(f32[2, 8])\n"));
  CHECK_THAT(atlas({"--against", "new"}), Catch::StartsWith("2 calls on 2 stacks against new; "));
  CHECK_THAT(atlas({"--markdown"}), Contains("| call |") && Contains("| `exp(f32[3, 8])` |"));
  CHECK(json::parse(atlas({"--json"})).at("rows").size() == 2);
  const Said pairs = place.say(&declare_compare, {});
  CHECK(pairs.code == ExitCode::failed);
  CHECK_THAT(pairs.out, Catch::StartsWith("new against old: 1 equal, 1 rounding\n"));
  CHECK(json::parse(place.say(&declare_compare, {"--json"}).out).at("schema") == "reprobench/atlas");
  CHECK(place.say(&declare_compare, {"--fail-on", "defect"}).code == ExitCode::passed);
  CHECK(place.say(&declare_compare, {"--fail-on", "another_computation"}).code == ExitCode::passed);
}

TEST_CASE("a run that made no operator calls has no atlas", "[cli][process]") {
  const RunPlace place;
  place.run();
  CHECK_THROWS_WITH(place.say(&declare_atlas, {}), "run " + place.run_folder().filename().string() +
                                                       " made no operator calls; see matrix/operators.yaml");
}

TEST_CASE("an index that cannot be written is said, and the run's files are whole", "[cli][process]") {
  const RunPlace place;
  place.run();
  const RunVerdict verdict = judge(load_run(place.run_folder().string()));
  const fs::path folder = place / "written";
  written_file(folder / "journal.jsonl", "");
  write_verdict_files(folder, verdict);
  CHECK(json::parse(read_file(folder / "verdict.json")) == to_json(verdict));
  CHECK(read_file(folder / "verdict.json").back() == '\n');
  CHECK_THAT(read_file(folder / "junit.xml"), Contains("<testsuites "));
  fs::rename(place.store(), place / "moved");
  written_file(place.store(), "a file");
  const Caught err(STDERR_FILENO);
  CHECK_FALSE(index_verdict(place.project(), place / "moved/runs" / verdict.info.run_id, verdict, Terminal()));
  CHECK_THAT(err.text(), Catch::StartsWith("store: "));
}

TEST_CASE("#41: a run that is not in the index has not ended well, but one that failed has failed", "[cli][process]") {
  const RunPlace place;
  written_file(place.store() / "index.db", "no index");
  const Said passed = place.run();
  CHECK(passed.code == ExitCode::store);
  CHECK_THAT(passed.out, Contains("Verdict PASSED"));
  CHECK_THAT(passed.err, Contains("index.db is not a reprobench store"));
  RunVerdict verdict;
  for (const ExitCode code : {ExitCode::passed, ExitCode::undecided, ExitCode::nothing_ran}) {
    verdict.exit_code = code;
    CHECK(exit_code_of(verdict, true) == code);
    CHECK(exit_code_of(verdict, false) == ExitCode::store);
  }
  verdict.exit_code = ExitCode::failed;
  CHECK(exit_code_of(verdict, false) == ExitCode::failed);
}

TEST_CASE("#41: report indexes what it judges of its store, and removes what a killed one left", "[cli][process]") {
  const RunPlace place;
  place.run();
  const FakePython python(place, "echo ok\n");
  const auto indexed = [&] { return indexed_runs(place.store()).size(); };
  fs::remove(place.store() / "index.db");
  const fs::path left = written_file(place.run_folder() / "report/.report.html.0123456789abcdef.tmp", "half");
  const fs::path other = written_file(place.run_folder() / ".verdict.json.0123456789abcdef.tmp", "half");
  place.say(&declare_report, {"--rejudge"});
  CHECK(indexed() == 1);
  CHECK_FALSE(fs::exists(left));
  CHECK_FALSE(fs::exists(other));

  fs::remove(place.store() / "index.db");
  fs::copy(place.run_folder(), place / "elsewhere", fs::copy_options::recursive);
  CHECK(place.say(&declare_report, {"--rejudge", place / "elsewhere"}).code == ExitCode::passed);
  CHECK(indexed() == 0);

  written_file(place.store() / "index.db", "no index");
  CHECK(place.say(&declare_report, {"--rejudge"}).code == ExitCode::store);
}

// As `qualify` runs a matrix, if the candidate's files change meanwhile.
std::function<ExitCode()> declare_run_of_changed(CLI::App& app, Context& context) {
  auto options = std::make_shared<RunOptions>();
  options->workers = {"new=" + kFake + " --do ok", "old=" + kFake + " --do ok"};
  options->no_report = true;
  options->changed_images = [] { return Texts{"candidate"}; };
  app.add_option("matrix", options->selection.matrix);
  return [options, &context] { return run_matrix(*options, context); };
}

TEST_CASE("a run in images that changed meanwhile is undecided, and stays so", "[cli][process]") {
  const RunPlace place;
  const Said said = place.say(&declare_run_of_changed, {place.matrix()});
  CHECK(said.code == ExitCode::undecided);
  CHECK_THAT(place.file("verdict.json").at("sentence").get<std::string>(),
             Contains("what ran is not known: files of candidate were changed since they were inspected"));
  CHECK(place.file("run.json").at("changed_images") == json({"candidate"}));
  CHECK(judge(load_run(place.run_folder().string())).exit_code == ExitCode::undecided);
}

}  // namespace
}  // namespace reprobench

// Runs of the fake worker in this process: what `run` says while it goes on and at its end, and what the verbs that
// take a run then say of it.
#include <regex>

#include "ci/catch.hpp"
#include "matrix/cli/verbs/run_options.hpp"
#include "matrix/cli/verbs/run_verb_fixture.hpp"
#include "matrix/cli/verdict_files.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/verdict/judge.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

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
  const std::string run_id = place.run_folder().filename();
  const auto word = [&] {
    const json listed = json::parse(place.say(&declare_list, {"runs", "--json"}).out).at("entries");
    REQUIRE(listed.size() == 1);
    return listed.at(0).at("summary").get<std::string>();
  };
  const auto code = [&] {
    const json run = json::parse(place.say(&declare_describe, {"run", run_id}).out);
    return run.at("details").at("exit_code").get<int>();
  };
  const std::string given = place.file("verdict.json").at("word");
  CHECK_THAT(word(), Contains("  " + given));
  CHECK(code() == place.file("verdict.json").at("exit_code"));
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
  CHECK(code() == -1);
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

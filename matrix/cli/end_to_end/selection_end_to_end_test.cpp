// What is asked of the built binary: selections, names that nothing has, mistakes in calls and files, help.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "ci/catch.hpp"
#include "matrix/cli/workplace_fixture.hpp"
#include "matrix/contract/attempt_memory.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

TEST_CASE("a broken matrix ends with 2, names the place and launches nothing", "[e2e]") {
  const Workplace place;
  std::ofstream(place / "broken.yaml")
      << "schema: 1\nname: x\nsuites: [smoke]\naxes: {stack: [torch-2.9.0-cu128]}\ntimout: 10m\n";
  const auto result = call({kBinary, "--store", place / "store", "run", "--matrix", place / "broken.yaml"});
  CHECK(result.exit_code == 2);
  CHECK(result.err.find("broken.yaml:5:1: error[RB009]: unknown key `timout`; did you mean `timeout`?") !=
        std::string::npos);
  CHECK_FALSE(fs::exists(place / "store"));
}

TEST_CASE("a selection without cells ends with 4, an unknown cell or stack with 2", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("smoke", "ok");
  SECTION("filter") {
    command.insert(command.end(), {"--filter", "device == sm_90"});
    CHECK(call(command).exit_code == 4);
  }
  SECTION("cell") {
    command.insert(command.end(), {"--cell", "ffffffffffff"});
    CHECK(call(command).exit_code == 2);
  }
  SECTION("option") {
    command.push_back("--no-such-option");
    CHECK(call(command).exit_code == 2);
  }
}

TEST_CASE("a mistyped verb ends with 2 and names the nearest", "[e2e]") {
  const auto result = call({kBinary, "pln"});
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.err, Catch::Contains("there is no verb `pln`; did you mean `plan`? See `reprobench --help`"));
  CHECK(call({kBinary}).exit_code == 2);
}

int cells_skipped_as(const json& verdict, const std::string& reason) {
  return static_cast<int>(std::count_if(verdict.at("cells").begin(), verdict.at("cells").end(), [&](const json& cell) {
    return cell.at("outcome") == "skipped" && cell.at("reason") == reason;
  }));
}

TEST_CASE("a selected cell brings its reference along, and what was left out stays in the verdict", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("determinism", "ok");
  command.insert(command.end(), {"--stack", "torch-2.9.0-cu128", "--workload", "mlp"});
  const auto result = call(command);
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.out, Catch::Contains("2 of 4 cells selected, run with --worker torch-2.8.0-cu128"));
  CHECK_THAT(result.err, Catch::Contains("plan e2e: 2 of 4 cells selected, 2 runnable, 0 skipped"));
  const json verdict = place.verdict();
  CHECK(verdict.at("cells").size() == 4);
  CHECK(cells_skipped_as(verdict, "deselected") == 2);
  CHECK(verdict.at("selected_by") == json({"--stack torch-2.9.0-cu128", "--workload mlp"}));
}

TEST_CASE("the reference alone, by any selection, is no verdict on a matrix that requires the candidate", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("smoke", "ok");
  std::ofstream(place / "matrix.yaml", std::ios::app) << "required: [{stack: torch-2.9.0-cu128}]\n";
  SECTION("by stack") { command.insert(command.end(), {"--stack", "torch-2.8.0-cu128"}); }
  SECTION("by expression") { command.insert(command.end(), {"--filter", "stack == torch-2.8.0-cu128"}); }
  const auto result = call(command);
  INFO(result.out);
  CHECK(result.exit_code == 3);
  CHECK(result.out.find(" qualified") == std::string::npos);
}

TEST_CASE("a fault that sits nowhere is a usage error and launches nothing", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("smoke, determinism", "ok");
  SECTION("a step beyond the end of every cell") {
    command.insert(command.end(), {"--inject", "kind=weight_ulp,step=5000,tensor=fc1.weight,repeat=0"});
  }
  SECTION("a step beyond the end of the selected cells") {
    command.insert(command.end(),
                   {"--inject", "kind=weight_ulp,step=150,tensor=fc1.weight", "--filter", "suite == smoke"});
  }
  CHECK(call(command).exit_code == 2);
  CHECK_FALSE(fs::exists(place / "store"));
}

TEST_CASE("fewer repeats than the matrix asks for give no verdict on it", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("determinism", "ok");
  command.insert(command.end(), {"--repeat", "2"});
  CHECK_THAT(call(command).out, Catch::Contains("run with --repeat 2 --worker torch-2.8.0-cu128"));
}

TEST_CASE("a run with another worker than the installed one says so and qualifies nothing", "[e2e]") {
  const Workplace place;
  const auto result = call(place.run_command("smoke", "ok"));
  CHECK(result.exit_code == 0);
  std::string words = result.out;
  std::replace(words.begin(), words.end(), '\n', ' ');
  CHECK_THAT(words, Catch::Contains("run with --worker torch-2.8.0-cu128 --worker torch-2.9.0-cu128: no verdict on"));
  CHECK(words.find("e2e qualified") == std::string::npos);
  CHECK_THAT(candidate_cell(place.verdict()).at("reproduce").get<std::string>(),
             Catch::Contains(" --worker 'torch-2.9.0-cu128=" + kFakeWorker + " --do ok'"));
}

TEST_CASE("a suite's file is named as one would type it, from the folder one is in", "[e2e]") {
  const Workplace place;
  const auto origins_from = [&](const std::string& folder) {
    const auto result =
        call({"/bin/sh", "-c",
              "cd " + folder + " && REPROBENCH_ROOT=" REPROBENCH_SOURCE_ROOT " " + kBinary + " --store " +
                  (place / "store").string() + " plan --json --matrix " + place.matrix("smoke")});
    INFO(result.err);
    return json::parse(result.out).at("cells").at(0).at("thresholds").at(0).at("origin").get<std::string>();
  };
  const std::string origin = origins_from(REPROBENCH_SOURCE_ROOT);
  CHECK_THAT(origin, Catch::StartsWith("suites/definitions/smoke.yaml:"));
  CHECK(origins_from(REPROBENCH_SOURCE_ROOT "/suites") == origin.substr(std::string("suites/").size()));
  CHECK(origins_from("/") == fs::path(REPROBENCH_SOURCE_ROOT).lexically_relative("/").string() + "/" + origin);
  CHECK(origins_from(place / "") == REPROBENCH_SOURCE_ROOT "/" + origin);
}

TEST_CASE("that nothing here knows a preset is said before anything runs", "[e2e]") {
  const Workplace place;
  const auto result = call({kBinary, "--store", place / "store", "plan", "--matrix", place.matrix("smoke")});
  CHECK_THAT(result.err, Catch::Contains("presets not checked, because no installed worker describes these models: "
                                         "gpt2/tiny, mlp/base\n"));
}

TEST_CASE("a name that nothing has is answered with the nearest", "[e2e]") {
  const Workplace place;
  const auto run = place.run_command("smoke", "ok");
  struct Row {
    std::vector<std::string> command;
    const char* answer;
  };
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return more;
  };
  for (const Row& row : {
           Row{with({"--stack", "torch-2.9"}), "`torch-2.9`; did you mean `torch-2.9.0-cu128`?"},
           Row{with({"--workload", "mpl"}), "`mpl`; did you mean `mlp`?"},
           Row{with({"--device", "cup"}), "`cup`; did you mean `cpu`?"},
           Row{with({"--cell", "smoke-mlp-torch-2.9.0-cu128-gpu"}), "did you mean `smoke-mlp-torch-2.9.0-cu128-cpu`?"},
           Row{with({"--job", "2"}), "there is no option of run `--job`; did you mean `--jobs`?"},
           Row{with({"--join=torchrunn"}), "--join: `torchrunn` is none of any, torchrun, slurm; see `reprobench run"},
           Row{{kBinary, "compare", "torch-2.9.0-cu182"}, "did you mean `torch-2.9.0-cu128`?"},
           Row{{kBinary, "compare", "torch-2.8.0-cu128", "torch-2.9.0-cu128", "--knob", "tf23=on"},
               "did you mean `tf32`?"},
           Row{{kBinary, "describe", "stack", "torch-2.9.0-cu182"}, "did you mean `torch-2.9.0-cu128`?"},
           Row{{kBinary, "list", "stakcs"}, "did you mean `stacks`?"},
           Row{{kBinary, "calibrate", "torch-2.9.0-cu182"}, "did you mean `torch-2.9.0-cu128`?"},
           Row{{kBinary, "calibrate", "torch-2.9.0-cu128", "--lockstep", "--members", "4"},
               "--members excludes --lockstep"},
           Row{{kBinary, "calibrate", "torch-2.9.0-cu128", "--batches", "16"}, "--batches requires --lockstep"},
           Row{{kBinary, "schema", "verdit"}, "did you mean `verdict`?"},
       }) {
    const auto result = call(row.command);
    CAPTURE(row.command, result.err);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.err, Catch::Contains(row.answer));
  }
}

TEST_CASE("a plan that is only shown is one document with --json, and names what is not installed", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("smoke", "ok");
  command.insert(command.end(), {"--dry-run", "--json"});
  const auto shown = call(command);
  CHECK(shown.exit_code == 0);
  CHECK(json::parse(shown.out).at("schema") == "reprobench/plan");
  CHECK_THAT(shown.err, !Catch::Contains("not installed:"));
  const auto planned = call({kBinary, "--store", place / "store", "plan", "--matrix", place / "matrix.yaml"});
  CHECK(planned.exit_code == 0);
  CHECK_THAT(planned.err, Catch::Contains("; to run the plan: reprobench stack install torch-2."));
}

TEST_CASE("of two --jobs the last counts, as it has to after a script's own", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("smoke", "ok");
  command.insert(command.end(), {"--dry-run", "--jobs", "64", "-j", "1"});
  const auto result = call(command);
  INFO(result.err);
  CHECK(result.exit_code == 0);
  command.insert(command.end(), {"-j", "0"});
  CHECK(call(command).exit_code == 2);
}

// A worker that says of every question that it takes a petabyte.
fs::path greedy_worker(const Workplace& place) {
  AttemptMemory need;
  need.parameter_bytes = 1'000'000'000'000'000;
  MemoryPredictions predictions;
  predictions.needs = {need};
  const json answer = to_json(predictions);
  const std::string text = answer.dump();
  const std::string each = answer.at("needs").at(0).dump();
  const std::size_t at = text.find(each);
  const fs::path path = place / "greedy-worker";
  std::ofstream(path) << "#!/bin/sh\n[ \"$1\" = predict ] || exit 1\ncount=$(grep -o '\"cell_id\"' \"$2\" | wc -l)\n"
                      << "printf '%s' '" << text.substr(0, at) << each << "'\n"
                      << "while [ $((count -= 1)) -gt 0 ]; do printf ',%s' '" << each << "'; done\n"
                      << "printf '%s' '" << text.substr(at + each.size()) << "'\n";
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

TEST_CASE("what does not fit into memory is held back by --dry-run as by the run", "[e2e]") {
  const Workplace place;
  const std::string worker = greedy_worker(place);
  std::vector<std::string> command{kBinary,
                                   "--store",
                                   place / "store",
                                   "run",
                                   "--no-report",
                                   "--matrix",
                                   place.matrix("smoke"),
                                   "--worker",
                                   "torch-2.9.0-cu128=" + worker,
                                   "--worker",
                                   "torch-2.8.0-cu128=" + worker};
  const auto ran = call(command);
  command.push_back("--dry-run");
  const auto planned = call(command);
  CAPTURE(ran.out, ran.err, planned.out, planned.err);
  CHECK(ran.exit_code == 4);
  CHECK_THAT(ran.out, Catch::Contains("host-memory"));
  CHECK(planned.exit_code == 0);
  CHECK_THAT(planned.out, Catch::Contains("skipped  host-memory: needs about 1000000.0 GB"));
  CHECK(planned.out.find("runnable ") == std::string::npos);

  const auto of_nobody = call({kBinary, "--store", place / "store", "plan", "--matrix", place.matrix("smoke")});
  CHECK_THAT(of_nobody.err, Catch::Contains("memory not predicted for 4 cells: stack not installed (4)\n"));
  CHECK(of_nobody.exit_code == 0);
}

TEST_CASE("reading makes no store", "[e2e]") {
  const Workplace place;
  for (const auto& words : {std::vector<std::string>{"db", "list"},
                            {"list", "runs"},
                            {"explain", "x"},
                            {"report"},
                            {"compare"},
                            {"list", "stacks"}}) {
    std::vector<std::string> command{kBinary, "--store", place / "store"};
    command.insert(command.end(), words.begin(), words.end());
    call(command);
    CAPTURE(words);
    CHECK_FALSE(fs::exists(place / "store"));
  }
}

TEST_CASE("help, version and exit codes are where people look for them", "[e2e]") {
  CHECK(call({kBinary, "--version"}).out == call({kBinary, "version"}).out);
  CHECK(call({kBinary, "help"}).out == call({kBinary, "--help"}).out);
  CHECK(call({kBinary, "help", "compare"}).out == call({kBinary, "compare", "--help"}).out);
  // The verbs that the help itself lists, and what some of them have below them.
  std::vector<std::vector<std::string>> verbs;
  std::istringstream lines(call({kBinary, "--help"}).out);
  bool is_list = false;
  for (std::string line; std::getline(lines, line);) {
    if (is_list && line.starts_with("  ") && line[2] != ' ') verbs.push_back({line.substr(2, line.find(' ', 2) - 2)});
    is_list = line == "Subcommands:" || (is_list && line.starts_with("  "));
  }
  REQUIRE(verbs.size() == 23);
  for (const char* action : {"install", "adopt", "list", "show", "verify", "remove"})
    verbs.push_back({"stack", action});
  for (const char* action : {"rebuild", "list"}) verbs.push_back({"db", action});
  for (std::vector<std::string> words : verbs) {
    CAPTURE(words);
    words.insert(words.begin(), kBinary);
    words.push_back("--help");
    CHECK_THAT(call(words).out, Catch::Contains("Exit codes: 0 "));
  }
  CHECK_THAT(call({kBinary, "compare", "--help"}).out, Catch::Contains("3 one cannot be compared"));
  CHECK_THAT(call({kBinary, "selftest", "--help"}).out,
             Catch::Contains("Exit codes of selftest: 0 every planted fault was found"));
  CHECK_THAT(call({kBinary, "list", "faults"}).out, Catch::Contains("weight_ulp"));
}

}  // namespace
}  // namespace reprobench

// The whole coordinator as its users meet it: the built binary, real processes, real files; only the training is made
// up.
#include <algorithm>
#include <filesystem>
#include <iterator>

#include <nlohmann/json.hpp>

#include "ci/catch.hpp"
#include "matrix/cli/workplace_fixture.hpp"
#include "matrix/record/verdict_seal.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

TEST_CASE("probes run from suite to verdict, and what is wrong with a device fails by name", "[e2e]") {
  struct Row {
    const char* suites;
    const char* candidate;
    int exit_code;
    const char* reason;
  };
  const Row row = GENERATE(
      Row{"device_smoke, device_memory, device_compute, device_stress", "ok", 0, "all_checks_passed"},
      Row{"device_smoke", "wrong_result", 1, "device.wrong_results"},
      Row{"device_memory", "slow_triad=5", 1, "device.bandwidth_share"},
      Row{"device_stress", "flipped_bit", 1, "device.stress_mismatches"}, Row{"device_stress", "crash", 1, "crash"},
      Row{"comm", "ok", 0, "all_checks_passed"}, Row{"comm", "rank=1,wrong_result", 1, "comm.wrong_results"},
      Row{"comm", "rank=1,slow_collective=1e5", 1, "comm.latency_p50"},
      Row{"comm", "rank=1,slow_collective=118", 1, "comm.latency_ratio"},
      Row{"comm", "rank=1,other_order", 1, "comm.rank_mismatches"});
  CAPTURE(row.suites, row.candidate);
  const Workplace place;
  CHECK(call(place.run_command(row.suites, row.candidate)).exit_code == row.exit_code);
  const json cell = candidate_cell(place.verdict());
  CHECK(cell.at("reason") == row.reason);
  if (std::string(row.candidate) == "crash") return;
  const SubprocessResult explained =
      call({kBinary, "--store", place / "store", "explain", cell.at("slug").get<std::string>()});
  CHECK(explained.exit_code == 0);
  CHECK_THAT(explained.out, Catch::Contains("measurements") && Catch::Contains("samples"));
}

TEST_CASE("a slow or wrong rank turns the collectives of the v2.9 matrix red, and its fourth dimension", "[e2e]") {
  struct Row {
    const char* candidate;
    int exit_code;
    const char* reason;
    const char* dimension;
  };
  const Row row = GENERATE(Row{"ok", 3, "all_checks_passed", "passed"},  // required cells are left out
                           Row{"rank=1,wrong_result", 1, "comm.wrong_results", "failed"},
                           Row{"rank=1,slow_collective=1e5", 1, "comm.latency_p50", "failed"});
  CAPTURE(row.candidate);
  const Workplace place;
  std::vector<std::string> command = place.run_command("comm", row.candidate);
  *std::next(std::ranges::find(command, "--matrix")) = REPROBENCH_SOURCE_ROOT "/matrix/v2.9.yaml";
  for (const char* more :
       {"--filter", "suite == comm and device == cpu and stack in (torch-2.9.0-cu128, torch-2.8.0-cu128)"}) {
    command.emplace_back(more);
  }
  CHECK(call(command).exit_code == row.exit_code);
  const json verdict = place.verdict();
  CHECK(verdict.at("totals").at("planned") == 517);
  for (const json& cell : verdict.at("cells")) {
    const bool is_candidates = cell.at("coordinates").at("stack") == "torch-2.9.0-cu128";
    if (cell.at("outcome") == "skipped") continue;
    CHECK(cell.at("coordinates").at("suite") == "comm");
    CHECK(cell.at("reason") == (is_candidates ? row.reason : "all_checks_passed"));
  }
  const auto communication = std::ranges::find_if(
      verdict.at("dimensions"), [](const json& one) { return one.at("dimension") == "communication"; });
  REQUIRE(communication != verdict.at("dimensions").end());
  CHECK(communication->at("word") == row.dimension);
}

TEST_CASE("a run in which everything holds ends with 0 and writes verdict, JUnit and index", "[e2e]") {
  const Workplace place;
  const auto result = call(place.run_command("smoke, determinism", "ok"));
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  const json verdict = place.verdict();
  CHECK(verdict.at("word") == "passed");
  CHECK(verdict.at("totals").at("planned") == 8);
  CHECK(verdict.at("totals").at("passed") == 8);
  CHECK(fs::exists(place.run_folder() / "junit.xml"));
  const auto listed = call({kBinary, "--store", place / "store", "db", "list"});
  CHECK(listed.out.find("passed") != std::string::npos);
}

struct Planted {
  const char* suites;
  const char* behaviour;
  int exit_code;
  const char* outcome;
  const char* reason;
};

TEST_CASE("every repeat that trained leaves its curve, a crashed one too, and none does without a report", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("determinism", "crash=11");
  const bool has_report = GENERATE(true, false);
  if (has_report) std::erase(command, "--no-report");
  CHECK(call(command).exit_code == 1);
  const auto curves = [&](const std::string& stack, const std::string& repeat) {
    return place.run_folder() / "tensorboard" / ("determinism-mlp-" + stack + "-cpu") / ("repeat-" + repeat);
  };
  for (const char* repeat : {"0", "1", "2"}) CHECK(fs::is_directory(curves("torch-2.8.0-cu128", repeat)) == has_report);
  CHECK(fs::is_directory(curves("torch-2.9.0-cu128", "0")) == has_report);
}

TEST_CASE("each planted fault turns its cell, and only its cell, and the exit code", "[e2e]") {
  const auto planted = GENERATE(values<Planted>({
      {"throughput", "slow=1.1", 1, "failed", "throughput.step_time"},
      {"throughput", "stall=100", 1, "failed", "throughput.mean_step_time"},
      {"throughput", "late_start=17", 1, "failed", "throughput.start_to_first_step"},
      {"throughput", "slow=0.9", 0, "passed", "all_checks_passed"},
      {"memory", "drop_metric", 3, "inconclusive", "missing_metric"},
      {"determinism", "drift=5", 1, "failed", "numerics.repeat_mismatches"},
      {"determinism", "nan=5", 1, "failed", "non_finite_loss"},
      {"determinism", "different_workload", 1, "failed", "numerics.by_construction_mismatches"},
      {"determinism", "other_initial_bits", 1, "failed", "numerics.by_construction_mismatches"},
      {"throughput", "different_workload", 3, "inconclusive", "not_comparable"},
      {"smoke", "crash=11", 1, "failed", "crash"},
      {"smoke", "exit=3", 1, "failed", "nonzero"},
      {"smoke", "no_result", 1, "failed", "contract"},
      {"smoke", "wrong_nonce", 1, "failed", "contract"},
      {"smoke", "bad_crc", 1, "failed", "contract"},
      {"smoke", "leak", 1, "failed", "leaked"},
  }));
  INFO(planted.suites << " " << planted.behaviour);
  const Workplace place;
  const auto result = call(place.run_command(planted.suites, planted.behaviour));
  INFO(result.out << result.err);
  CHECK(result.exit_code == planted.exit_code);
  const json verdict = place.verdict();
  CHECK(candidate_cell(verdict).at("outcome") == planted.outcome);
  CHECK(candidate_cell(verdict).at("reason") == planted.reason);
  // The reference: it passed what was asked of it, which in throughput is nothing.
  CHECK(verdict.at("cells").at(1).at("outcome") ==
        (std::string_view(planted.suites) == "throughput" ? "recorded" : "passed"));
}

TEST_CASE("of a crashed attempt the verdict says which torch it had begun with, and that the rest is not known",
          "[e2e]") {
  const Workplace place;
  const auto result = call(place.run_command("smoke", "crash=11"));
  const json verdict = place.verdict();
  const json& environments = verdict.at("environments");
  const auto found = std::find_if(environments.begin(), environments.end(),
                                  [](const json& one) { return one.at("stack") == "torch-2.9.0-cu128"; });
  REQUIRE(found != environments.end());
  CHECK(found->at("fingerprint").is_null());
  CHECK(found->at("torch_loaded") == "torch-2.9.0-cu128");  // what the fake worker says of itself
  CHECK_THAT(result.out, Catch::Contains("not known what was loaded beside torch"));
}

TEST_CASE("a drift between repeats names step and tensor", "[e2e]") {
  const Workplace place;
  call(place.run_command("determinism", "drift=5"));
  const json cell = candidate_cell(place.verdict());
  const json& divergence = cell.at("checks").at(0).at("divergence");
  CHECK(divergence.at("step") == 5);
  CHECK_FALSE(divergence.at("tensor").get<std::string>().empty());
}

TEST_CASE("two runs of one matrix have the same cells and the same digests", "[e2e]") {
  const Workplace first;
  const Workplace second;
  call(first.run_command("determinism", "ok"));
  call(second.run_command("determinism", "ok"));
  const json a = first.verdict();
  const json b = second.verdict();
  REQUIRE(a.at("cells").size() == b.at("cells").size());
  for (std::size_t i = 0; i < a.at("cells").size(); ++i) {
    CHECK(a.at("cells").at(i).at("cell_id") == b.at("cells").at(i).at("cell_id"));
    CHECK(a.at("cells").at(i).at("chain") == b.at("cells").at(i).at("chain"));
    CHECK(a.at("cells").at(i).at("outcome") == b.at("cells").at(i).at("outcome"));
  }
}

TEST_CASE("a drill says so in the first line of everything it writes, and in its reproduce lines", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("determinism", "ok");
  const std::string fault = "kind=weight_ulp,step=20,tensor=fc1.weight,element=5,repeat=1,stack=torch-2.9.0-cu128";
  command.insert(command.end(), {"--inject", fault});
  const auto result = call(command);
  INFO(result.out << result.err);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.out, Catch::StartsWith("DRILL"));
  CHECK_THAT(result.err, Catch::StartsWith("DRILL"));
  const json verdict = place.verdict();
  CHECK_THAT(verdict.at("sentence").get<std::string>(), Catch::StartsWith("DRILL"));
  CHECK_THAT(candidate_cell(verdict).at("reproduce").get<std::string>(), Catch::Contains(" --inject " + fault));
  CHECK_THAT(read_file(place.run_folder() / "junit.xml"), Catch::Contains("<testsuites name=\"DRILL e2e\" "));
}

TEST_CASE("a failed check shows while the run goes on and counts for --fail-fast", "[e2e]") {
  const Workplace place;
  auto command = place.run_command("determinism, smoke", "drift=5");
  command.push_back("--fail-fast=1");
  const auto result = call(command);
  INFO(result.out << result.err);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.err, Catch::Contains("failed   determinism-mlp-torch-2.9.0-cu128-cpu · numerics.repeat_mismatches: "
                                         "repeat 1 differs from repeat 0 in 196 of 200 steps"));
  CHECK(place.verdict().at("totals").at("failed") == 1);
  CHECK(place.verdict().at("totals").at("unfinished") > 0);
}

TEST_CASE("a candidate that ends before its reference is held against it as soon as that has ended", "[e2e]") {
  const Workplace place;
  const auto result = call(place.run_command("throughput", "slow=2"));
  INFO(result.out << result.err);
  CHECK_THAT(result.err, Catch::Contains("failed   throughput-gpt2-torch-2.9.0-cu128-cpu · throughput.step_time: "));
}

TEST_CASE("explain writes quantities as the verdict's sentences do", "[e2e]") {
  const Workplace place;
  call(place.run_command("throughput", "slow=2"));
  const std::string cell = candidate_cell(place.verdict()).at("cell_id");
  const auto result = call({kBinary, "--store", place / "store", "explain", cell, "throughput.step_time"});
  INFO(result.out);
  CHECK_THAT(result.out, Catch::Matches(R"([\s\S]*measured   [0-9.]+ [mu]s   reference [0-9.]+ [mu]s\n[\s\S]*)"));
  CHECK_THAT(result.out,
             Catch::Matches(R"([\s\S]*ratio      x[12]\.[0-9]{3} \[[0-9.]+, [0-9.]+\]   lower is better\n[\s\S]*)"));
  CHECK_THAT(result.out, Catch::Contains(" %   margin -"));
}

TEST_CASE("a mean that stalls made slower names them", "[e2e]") {
  const Workplace place;
  call(place.run_command("throughput", "stall=100"));
  CHECK_THAT(candidate_cell(place.verdict()).at("sentence").get<std::string>(),
             Catch::Contains("14 of 210 steps after warm-up took more than 3 times their median, ") &&
                 Catch::EndsWith(" times as a rule, mostly 20 steps apart"));
}

TEST_CASE("a slower step is followed into the phase that is slower", "[e2e]") {
  const Workplace place;
  const auto run = call(place.run_command("throughput", "slow_backward=2"));
  INFO(run.out);
  CHECK(run.exit_code == 1);
  const auto cell = candidate_cell(place.verdict());
  CHECK_THAT(
      cell.at("sentence").get<std::string>(),
      Catch::Matches(R"(.*, worse by more than 5 %; by phase: backward \+[34][0-9]\.[0-9] us \(x[12]\.\d{3} .*)"));
  const auto result =
      call({kBinary, "--store", place / "store", "explain", cell.at("cell_id"), "throughput.step_time"});
  CHECK_THAT(result.out, Catch::Matches(R"([\s\S]*phases     data  [\s\S]* backward  .* x[12]\.\d{3} \[[\s\S]*)"));
}

TEST_CASE("runs are listed as text and as a document", "[e2e]") {
  const Workplace place;
  call(place.run_command("smoke", "ok"));
  const std::string id = place.run_folder().filename();
  for (const auto& words : {std::vector<std::string>{"db", "list", "--json"}, {"list", "runs", "--json"}}) {
    std::vector<std::string> command{kBinary, "--store", place / "store"};
    command.insert(command.end(), words.begin(), words.end());
    const json document = json::parse(call(command).out);
    CHECK(document.at("schema") == "reprobench/list");
    CHECK(document.at("entries").at(0).at("name") == id);
  }
}

TEST_CASE("explain shows no escape sequence, bidirectional mark or line of a worker's making", "[e2e]") {
  const Workplace place;
  call(place.run_command("determinism", "ok"));
  const fs::path file = place.run_folder() / "verdict.json";
  json verdict = json::parse(read_file(file));
  json& cell = verdict.at("cells").at(0);
  const std::string evil = "\x1b[2K\x1b]0;title\x07 \u202eknil\nVerdict PASSED\n";
  for (const char* key : {"sentence", "reason", "reproduce", "slug"}) cell[key] = evil;
  cell.at("attempts").at(0)["detail"] = evil;
  cell.at("checks").at(0)["origin"] = evil;
  write_sealed_verdict(place.run_folder(), verdict.dump());
  for (const char* color : {"never", "always"}) {
    const auto result = call({kBinary, "--store", place / "store", "--color", color, "explain", cell.at("cell_id")});
    INFO(result.out);
    CHECK(result.exit_code == 0);
    CHECK(result.out.find('\x1b') == std::string::npos);
    CHECK(result.out.find("\u202e") == std::string::npos);
    CHECK(result.out.find("\nVerdict") == std::string::npos);
  }
}

TEST_CASE("explain names the threshold's origin", "[e2e]") {
  const Workplace place;
  call(place.run_command("determinism", "drift=5"));
  const std::string cell = candidate_cell(place.verdict()).at("cell_id");
  const auto result = call({kBinary, "--store", place / "store", "explain", cell, "numerics.repeat_mismatches"});
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("suites/definitions/determinism.yaml:") != std::string::npos);
  CHECK(call({kBinary, "--store", place / "store", "explain", cell, "no.such_check"}).exit_code == 2);
}

}  // namespace
}  // namespace reprobench

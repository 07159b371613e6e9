// `compare` of the built binary: stored runs and cells, and tensor files.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <span>

#include <nlohmann/json.hpp>

#include "ci/catch.hpp"
#include "matrix/base/safetensors.hpp"
#include "matrix/cli/workplace_fixture.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A run that leaves every difference to `compare`.
std::vector<std::string> undiagnosed(std::vector<std::string> command) {
  command.insert(command.end(), {"--diagnose-for", "0"});
  return command;
}

TEST_CASE("compare says where two runs diverge, calls no run its own equal, and refuses what has nothing in common",
          "[e2e]") {
  const Workplace place;
  CHECK(call(place.run_command("smoke, determinism", "drift=5")).exit_code == 1);
  const std::string run = place.run_folder();
  const auto compare = [&](const std::string& a, const std::string& b) {
    return call({kBinary, "--store", place / "store", "compare", a, b, "--json"});
  };
  const auto whole = compare(run, run);
  INFO(whole.out << whole.err);
  CHECK(whole.exit_code == 1);
  const json comparisons = json::parse(whole.out).at("comparisons");
  CHECK(comparisons.size() == 8);
  // The drifting cells do not repeat themselves; that the others do is no answer.
  for (const json& one : comparisons) {
    const bool drifts = one.at("measured_name").get<std::string>().starts_with("determinism-") &&
                        one.at("measured_name").get<std::string>().find("2.9.0") != std::string::npos;
    CHECK(one.at("word") == (drifts ? "differs" : "not_comparable"));
  }
  CHECK_THAT(whole.err, Catch::Contains("8 pairs compared: 0 equal, 2 differ, 6 not comparable (exit 1)"));

  std::string candidate;
  std::string reference;
  const json verdict = place.verdict();
  for (const json& cell : verdict.at("cells")) {
    const json& at = cell.at("coordinates");
    if (at.at("suite") != "determinism" || at.at("workload") != "mlp") continue;
    (at.at("stack") == "torch-2.9.0-cu128" ? candidate : reference) = cell.at("cell_id");
  }
  const auto cells = compare(run + ":" + candidate, run + ":" + reference);
  INFO(cells.out << cells.err);
  CHECK(json::parse(cells.out).at("measured").get<std::string>().find(candidate) != std::string::npos);
  CHECK(json::parse(cells.out).at("steps_compared") > 0);
  CHECK(cells.exit_code == 1);
  CHECK_THAT(json::parse(cells.out).at("sentence").get<std::string>(),
             Catch::Contains("; repeat 0 against repeat 0; ") &&
                 Catch::Contains("does not repeat itself: repeat 1 has other bits than repeat 0"));
  CHECK(compare(run + ":ffffffff", run).exit_code == 2);
  CHECK(compare("torch-2.9.0-cu128", run).exit_code == 2);
}

TEST_CASE("a run keeps in its journal what its differences are, and is judged by that anew", "[e2e]") {
  const Workplace place;
  const bool is_asked = GENERATE(true, false);
  const auto command = place.run_command("determinism", "drift=5");
  call(is_asked ? command : undiagnosed(command));
  const auto diagnosed = [&] {
    const json cell = candidate_cell(json::parse(read_file(place.run_folder() / "verdict.json")));
    const json check = check_of(cell, "numerics.beyond_rounding");
    CHECK(check.at("status") == "inconclusive");
    CHECK(check.at("reason") == "undiagnosed");
    return check.at("sentence").get<std::string>();
  };
  const std::string sentence = diagnosed();
  CHECK_THAT(sentence, Catch::StartsWith("undecided: "));
  CHECK((sentence == "undecided: not asked: 0 s for diagnoses were spent (--diagnose-for)") != is_asked);
  CHECK(fs::exists(place.run_folder() / "comparisons.json") == is_asked);
  const std::string journal = read_file(place.run_folder() / "journal.jsonl");
  CHECK_THAT(journal, Catch::Contains("\"kind\":\"diagnosis\""));
  call({kBinary, "--store", place / "store", "report", place.run_folder(), "--rejudge"});
  CHECK(diagnosed() == sentence);
}

TEST_CASE("compare takes a cell of the newest run as explain does", "[e2e]") {
  const Workplace place;
  CHECK(call(undiagnosed(place.run_command("determinism", "drift=5"))).exit_code == 1);
  const json cell = candidate_cell(place.verdict());
  const std::string id = cell.at("cell_id");
  const std::string slug = cell.at("slug");
  const std::string reference = cell.at("reference_cell_id");
  const auto compare = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {kBinary, "--store", place / "store", "compare"});
    return call(words);
  };
  for (const std::string& name : {slug, id, id.substr(0, 6)}) {
    const auto against_reference = compare({name});
    CAPTURE(name, against_reference.err);
    CHECK(against_reference.exit_code == 1);
    CHECK_THAT(against_reference.out, Catch::Contains("first difference in step 5, parameter `fc1.weight`") &&
                                          Catch::Contains("1 pair compared: 0 equal, 1 differ"));
    CHECK(compare({name, reference}).out == against_reference.out);
  }
  CHECK_FALSE(fs::exists(place.run_folder() / "comparisons.json"));  // those of the other cells stay as they are
  CHECK(compare({slug, "torch-2.8.0-cu128"}).exit_code == 2);
  const auto mistyped = compare({slug + "x"});
  CHECK(mistyped.exit_code == 2);
  CHECK_THAT(mistyped.err, Catch::Contains("did you mean `" + slug + "`?"));
  CHECK_THAT(compare({reference}).err, Catch::Contains("has no reference in it; name a second cell"));
}

TEST_CASE("a mistyped stack is told its nearest name, whatever became of the newest run's plan", "[e2e]") {
  const Workplace place;
  const fs::path run = place / "store/runs/r-20261121-101502-7f3a";
  fs::create_directories(run);
  std::ofstream(run / "run.json") << "{}";
  const std::string plan = GENERATE("", "{", "{}");
  if (!plan.empty()) std::ofstream(run / "plan.json") << plan;
  const auto result = call({kBinary, "--store", place / "store", "compare", "torch-2.8.0-cu12", "torch-2.9.0-cu128"});
  CAPTURE(plan, result.err);
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.err, Catch::Contains("no run, cell of the newest run, or stack `torch-2.8.0-cu12`") &&
                             Catch::Contains("the cells of the newest run are not known: "));
}

TEST_CASE("cells without a partner are said in the document and on stderr, beside one pair too", "[e2e]") {
  const Workplace place;
  CHECK(call(place.run_command("determinism", "ok")).exit_code == 0);
  const fs::path whole = place.run_folder();
  auto command = place.run_command("determinism", "ok");
  command.insert(command.end(), {"--workload", "mlp", "--stack", "torch-2.8.0-cu128"});
  command.insert(command.end(), {"--out", place / "part"});
  call(command);
  const auto result =
      call({kBinary, "--store", place / "store", "--quiet", "compare", whole, place / "part", "--json"});
  INFO(result.out << result.err);
  CHECK(result.exit_code == 3);
  const json document = json::parse(result.out);
  CHECK(document.at("schema") == "reprobench/comparisons");
  CHECK(document.at("comparisons").size() + document.at("without_partner").size() == 4);
  for (const json& label : document.at("without_partner")) {
    CHECK_THAT(result.err, Catch::Contains(label.get<std::string>()));
  }
}

TEST_CASE("compare with a run alone holds its cells against their references and leaves what it found beside them",
          "[e2e]") {
  const Workplace place;
  CHECK(call(undiagnosed(place.run_command("smoke, determinism", "drift=5"))).exit_code == 1);
  const auto explain = [&] {
    return call({kBinary, "--store", place / "store", "explain", "determinism-mlp-torch-2.9.0-cu128-cpu"});
  };
  CHECK_FALSE(Catch::Contains("first difference").match(explain().out));
  const auto result = call({kBinary, "--store", place / "store", "compare", place.run_folder()});
  CHECK(result.exit_code == 1);
  const std::string found = "first difference in step 5, parameter `fc1.weight`";
  CHECK_THAT(result.out, Catch::Contains(found));
  CHECK_THAT(explain().out,
             Catch::Contains("cpu against determinism-mlp-torch-2.8.0-cu128-cpu") && Catch::Contains(found));
  const json document = json::parse(read_file(place.run_folder() / "comparisons.json"));
  CHECK(document.at("schema") == "reprobench/comparisons");
  CHECK(document.at("comparisons").size() == 4);
  for (const json& one : document.at("comparisons")) {
    CHECK(one.at("word") == "differs");
    if (!one.at("measured_name").get<std::string>().starts_with("determinism-")) continue;  // no tensors on record
    CHECK(one.at("strip").at("steps").at(0) == 1);
    CHECK(one.at("strip").at("rows").at(0).at("marks").get<std::string>().substr(0, 4) == "....");
  }
  // The verdict does not rest on it.
  std::ofstream(place.run_folder() / "comparisons.json") << "{";
  const auto explained = explain();
  CHECK(explained.exit_code == 0);
  CHECK_THAT(explained.err, Catch::Contains("comparisons.json is not shown: "));
  CHECK_FALSE(Catch::Contains(found).match(explained.out));
}

TEST_CASE("compare with a run whose cell crashed, or was deleted, is never green", "[e2e]") {
  const Workplace place;
  std::string problem;
  SECTION("crashed") {
    CHECK(call(place.run_command("determinism", "crash=11")).exit_code == 1);
    problem = "did not train to its end: crash: SIGSEGV";
  }
  SECTION("deleted") {
    CHECK(call(place.run_command("determinism", "ok")).exit_code == 0);
    fs::remove_all(place.run_folder() / "cells" / candidate_cell(place.verdict()).at("cell_id").get<std::string>());
    problem = "did not train to its end: ";
  }
  const auto result = call({kBinary, "--store", place / "store", "compare", place.run_folder()});
  INFO(result.out << result.err);
  CHECK(result.exit_code == 3);
  CHECK_THAT(result.out,
             Catch::Contains("\n  not_comparable nothing to compare: determinism-") && Catch::Contains(problem));
  CHECK_THAT(result.out, Catch::Contains("not comparable (exit 3)"));
}

TEST_CASE("compare with a run shows time and memory beside the bits", "[e2e]") {
  const Workplace place;
  CHECK(call(place.run_command("throughput", "slow=2")).exit_code == 1);
  const auto result = call({kBinary, "--store", place / "store", "compare", place.run_folder()});
  INFO(result.out << result.err);
  CHECK_THAT(result.out, Catch::Contains("throughput.step_time: ") && Catch::Contains("worse by more than 5 %"));
  CHECK_THAT(result.out, Catch::Contains("throughput-gpt2-torch-2.9.0-cu128-cpu against "
                                         "throughput-gpt2-torch-2.8.0-cu128-cpu: gpt2/tiny, 40 steps"));
}

TEST_CASE("compare goes on past replays that fail, and says what is left unanswered", "[e2e]") {
  const Workplace place;
  CHECK(call(place.run_command("determinism", "drift=5")).exit_code == 1);
  // The fake worker leaves nothing of what a replay is asked for.
  const auto result = call({kBinary, "--store", place / "store", "compare", place.run_folder(), "--explain", "--worker",
                            "torch-2.9.0-cu128=" + kFakeWorker, "--worker", "torch-2.8.0-cu128=" + kFakeWorker});
  INFO(result.out << result.err);
  CHECK(result.exit_code == 1);
  CHECK(result.err.find("not answered: explanation: ") != std::string::npos);
  const json document = json::parse(read_file(place.run_folder() / "comparisons.json"));
  CHECK(document.at("comparisons").size() == 2);
  for (const json& one : document.at("comparisons")) {
    CHECK(one.at("word") == "differs");
    CHECK(one.at("first_difference").at("step") == 5);
    CHECK(one.at("sentence").get<std::string>().find("not answered: explanation: ") != std::string::npos);
  }
}

TEST_CASE("compare holds tensor files of anyone against each other", "[e2e]") {
  const Workplace place;
  std::vector<float> values{1, 2, 3, 4};
  const auto write = [&](const std::string& name, const std::string& tensor) {
    write_safetensors(place / name, {{tensor, "F32", {2, 2}, std::as_bytes(std::span(values))}}, {});
    return (place / name).string();
  };
  const std::string a = write("a.safetensors", "w");
  const std::string same = write("same.safetensors", "w");
  values[2] = std::nextafter(3.0F, 4.0F);
  const std::string moved = write("moved.safetensors", "w");
  const std::string other = write("other.safetensors", "v");
  const auto compare = [&](const std::string& x, const std::string& y) { return call({kBinary, "compare", x, y}); };
  CHECK(compare(a, same).exit_code == 0);
  const auto differing = compare(moved, a);
  CHECK(differing.exit_code == 1);
  CHECK_THAT(differing.out, Catch::EndsWith("first at 2: 3.00000024 (0x40400001) against 3 (0x40400000), 1 ULP\n"));
  CHECK(compare(a, other).exit_code == 3);
  fs::resize_file(moved, 40);
  const auto cut = compare(a, moved);
  CHECK(cut.exit_code == 5);
  CHECK(cut.err.find("moved.safetensors: byte") != std::string::npos);
}

}  // namespace
}  // namespace reprobench

// `merge` as its users meet it: two real run directories of the fake worker become one.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "matrix/cli/workplace_fixture.hpp"
#include "matrix/contract/device/gpu_facts.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/record/seal.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kDeviceMatrix = R"(schema: 1
name: devices
suites: [determinism, throughput]
axes:
  stack: [torch-2.9.0-cu128]
  device: [cpu, sm_90]
reference: {device: cpu}
)";

// A file of checked lines, each changed.
void rewrite_lines(const fs::path& path, const std::function<void(json&)>& change) {
  std::istringstream lines(read_file(path));
  std::string text;
  std::int64_t seq = 0;
  for (std::string line; std::getline(lines, line);) {
    json body = std::get<json>(parse_trace_line(line, seq));
    change(body);
    text += trace_line(body, seq++);
  }
  std::ofstream(path) << text;
}

// With every `from` made `to`.
void rewrite_lines(const fs::path& path, const std::string& from, const std::string& to) {
  rewrite_lines(path, [&](json& body) {
    std::string text = body.dump();
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
    body = json::parse(text);
  });
}

// The seals of a run that was changed by hand, as if it had been so from the first; its verdict goes.
void seal_again(const fs::path& run) {
  rewrite_lines(run / "journal.jsonl", [&](json& entry) {
    if (entry.at("kind") == "header") entry["plan_sha256"] = seal_of_run(run).plan_sha256;
    if (!entry.contains("files")) return;
    const std::string folder =
        fmt::format("cells/{}/r{}a{}.{}", entry.at("cell_id").get<std::string>(), entry.at("repeat").get<int>(),
                    entry.at("attempt").get<int>(), entry.at("nonce").get<std::string>());
    entry["files"] = json::array();
    for (const SealedFile& file : seal_files(run / folder)) entry["files"].push_back(written(file));
  });
  fs::remove(run / "verdict.json");
}

// Two runs of one matrix: in `second` the candidate behaves as asked.
class TwoRuns {
 public:
  explicit TwoRuns(const std::string& candidate = "ok", const std::string& suites = "determinism") {
    first_ = made("first", "ok", suites);
    second_ = made("second", candidate, suites);
  }

  SubprocessResult merge(std::vector<std::string> more = {}) const {
    std::vector<std::string> command{kBinary,  "--store",     place_ / "store",           "merge",
                                     "--json", "--no-report", "alpha=" + first_.string(), "beta=" + second_.string(),
                                     "--out",  out()};
    command.insert(command.end(), more.begin(), more.end());
    return call(command);
  }

  fs::path out() const { return place_ / "merged"; }
  json merged(const std::string& name) const { return json::parse(read_file(out() / (name + ".json"))); }

  Workplace place_;
  fs::path first_;
  fs::path second_;

 private:
  fs::path made(const std::string& name, const std::string& candidate, const std::string& suites) const {
    auto command = place_.run_command(suites, candidate);
    command.insert(command.end(), {"--out", place_ / name});
    call(command);
    REQUIRE(fs::exists(place_ / name / "verdict.json"));
    return place_ / name;
  }
};

std::map<std::string, json> cells_by_slug(const json& verdict) {
  std::map<std::string, json> cells;
  for (const json& cell : verdict.at("cells")) cells.emplace(cell.at("slug"), cell);
  return cells;
}

TEST_CASE("merging two runs makes an ordinary run directory with the cells of both", "[e2e][merge]") {
  const TwoRuns runs("drift=5");
  const auto result = runs.merge();
  INFO(result.out << result.err);
  CHECK(result.exit_code == 1);
  const json verdict = runs.merged("verdict");
  CHECK(json::parse(result.out) == verdict);
  const auto cells = cells_by_slug(verdict);
  REQUIRE(cells.size() == 8);
  CHECK(cells.at("determinism-mlp-torch-2.8.0-cu128-cpu@alpha").at("outcome") == "passed");
  CHECK(cells.at("determinism-mlp-torch-2.9.0-cu128-cpu@beta").at("reason") == "numerics.repeat_mismatches");
  CHECK(verdict.at("info").at("sources").size() == 2);
  CHECK(runs.merged("plan").at("hosts").at(1).at("label") == "beta");
  CHECK_FALSE(fs::exists(runs.place_ / ".merged.merging"));

  // Judging the files anew, explaining a cell and comparing a run with itself need no word of the merge.
  const std::string failed = cells.at("determinism-mlp-torch-2.9.0-cu128-cpu@beta").at("cell_id");
  const auto verb = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {kBinary, "--store", runs.place_ / "store"});
    return call(words);
  };
  const auto explained = verb({"explain", failed, "--run", runs.out()});
  CHECK(explained.exit_code == 0);
  CHECK_THAT(explained.out, Catch::Contains("in 196 of 200 steps and the state after them; first at step 5"));
  const auto compared = verb({"compare", runs.out(), runs.out()});
  CHECK(compared.exit_code == 1);
  CHECK_THAT(compared.out, Catch::Contains("8 pairs compared: 0 equal, 2 differ, 6 not comparable (exit 1)"));
  CHECK(verb({"db", "list"}).out.find(verdict.at("info").at("run_id").get<std::string>()) != std::string::npos);
}

TEST_CASE("what was found of pairs of cells goes along under their new names, or is said not to", "[e2e][merge]") {
  const TwoRuns runs("drift=5");
  const auto compared = call({kBinary, "--store", runs.place_ / "store", "compare", runs.second_, "--json"});
  const json before = json::parse(read_file(runs.second_ / "comparisons.json"));
  INFO(compared.err);
  REQUIRE(before.at("comparisons").size() >= 2);
  std::ofstream(runs.first_ / "comparisons.json") << "{}";
  const auto merged = runs.merge();
  CHECK_THAT(merged.err, Catch::Contains("first/comparisons.json is not carried over: "));
  const json after = runs.merged("comparisons");
  const json verdict = runs.merged("verdict");
  const auto cells = cells_by_slug(verdict);
  const auto id_of = [&](const json& name) {
    return fmt::format("{}:{}", verdict.at("info").at("run_id").get<std::string>(),
                       cells.at(name).at("cell_id").get<std::string>());
  };
  REQUIRE(after.at("comparisons").size() == before.at("comparisons").size());
  for (std::size_t i = 0; i < before.at("comparisons").size(); ++i) {
    const json& pair = after.at("comparisons").at(i);
    const json& source = before.at("comparisons").at(i);
    const auto measured = pair.at("measured_name").get<std::string>();
    CHECK(measured == source.at("measured_name").get<std::string>() + "@beta");
    CHECK(pair.at("measured") == id_of(measured));
    CHECK(pair.at("expected") == id_of(pair.at("expected_name")));
    CHECK(pair.at("sentence") == source.at("sentence"));
    CHECK(pair.at("word") == source.at("word"));
  }
  const std::string cell = cells.at("determinism-mlp-torch-2.9.0-cu128-cpu@beta").at("cell_id");
  const auto explained = call({kBinary, "--store", runs.place_ / "store", "explain", cell, "--run", runs.out()});
  CHECK_THAT(explained.out, Catch::Contains("differs     equal bits up to step 4"));
}

TEST_CASE("a cell that two hosts ran says whether they agree, and a run on one host has no such check",
          "[e2e][merge]") {
  const std::string metric = "numerics.host_mismatches";
  const auto candidate_on = [](const json& verdict, const std::string& host) {
    return cells_by_slug(verdict).at("determinism-mlp-torch-2.9.0-cu128-cpu@" + host);
  };
  SECTION("equal bits agree") {
    const TwoRuns runs;
    CHECK(runs.merge().exit_code == 0);
    const json check = check_of(candidate_on(runs.merged("verdict"), "beta"), metric);
    CHECK(check.at("status") == "passed");
    CHECK(check.at("gate") == "armed");
    const json alone = json::parse(read_file(runs.first_ / "verdict.json"));
    for (const json& each : alone.at("cells").at(0).at("checks")) CHECK(each.at("metric") != metric);
  }
  SECTION("other bits under equal fingerprints are a conflict") {
    const TwoRuns runs("ok_other_bits");
    CHECK(runs.merge().exit_code == 1);
    const json check = check_of(candidate_on(runs.merged("verdict"), "beta"), metric);
    CHECK(check.at("status") == "failed");
    CHECK(check.at("divergence").at("against") == "determinism-mlp-torch-2.9.0-cu128-cpu@alpha");
  }
  SECTION("a host that does not repeat its own bits accuses nobody") {
    const TwoRuns runs("drift=5");
    CHECK(runs.merge().exit_code == 1);
    const json check = check_of(candidate_on(runs.merged("verdict"), "alpha"), metric);
    CHECK(check.at("status") == "inconclusive");
    CHECK(check.at("sentence").get<std::string>().find("@beta does not repeat its own bits") != std::string::npos);
  }
}

// The run as a host with an H100 would have left it, which skips the CPU: its cells have another device and id, and
// take no turns.
void move_to_gpu(const fs::path& run) {
  json plan = json::parse(read_file(run / "plan.json"));
  plan["host"]["host_name"] = "gpu-host";
  GpuFacts h100;
  h100.name = "NVIDIA H100";
  h100.compute_capability = "9.0";
  h100.memory_bytes = 1;
  plan["host"]["gpus"] = json::array({written(h100)});
  std::map<std::string, std::string> ids;
  std::map<std::string, std::string> id_of_slug;
  for (const json& cell : plan["cells"]) id_of_slug[cell["slug"]] = cell["cell_id"];
  for (const auto& [slug, id] : id_of_slug) {
    const auto device = slug.rfind("-cpu");
    if (device != std::string::npos) ids[id] = id_of_slug.at(slug.substr(0, device) + "-sm_90");
  }
  for (json& cell : plan["cells"]) {
    const bool on_cpu = cell["request"]["device"] == "cpu";
    cell["skip"] = on_cpu ? json{{"rule", "by-hand"}, {"reason", "kept for another host"}} : json(nullptr);
  }
  std::ofstream(run / "plan.json") << plan.dump();
  for (const auto& [cpu, gpu] : ids) {
    fs::rename(run / "cells" / cpu, run / "cells" / gpu);
    for (const auto& attempt : fs::directory_iterator(run / "cells" / gpu)) {
      for (const char* name : {"result.json", "request.json"}) {
        json document = json::parse(read_file(attempt.path() / "rank-0" / name));
        document["cell_id"] = gpu;
        document.erase("turn_steps");
        document.erase("turns_wait");
        std::ofstream(attempt.path() / "rank-0" / name) << document.dump();
      }
      rewrite_lines(attempt.path() / "rank-0" / "trace.jsonl", cpu, gpu);
      rewrite_lines(attempt.path() / "rank-0" / "trace.jsonl", [](json& body) { body.erase("block"); });
    }
    rewrite_lines(run / "journal.jsonl", cpu, gpu);
  }
  seal_again(run);
}

TEST_CASE("cells of a GPU host meet the CPU cells of another, and speed is not compared across", "[e2e][merge]") {
  const Workplace place;
  std::ofstream(place / "matrix.yaml") << kDeviceMatrix;
  const auto run = [&](const char* name) {
    const auto result =
        call({kBinary, "--store", place / "store", "run", "--no-report", "--matrix", place / "matrix.yaml", "--out",
              place / name, "--worker", "torch-2.9.0-cu128=" + kFakeWorker + " --do ok"});
    INFO(result.out << result.err);
    CHECK(result.exit_code == 0);
    return (place / name).string();
  };
  const std::string cpu = run("cpu-run");
  const std::string gpu = run("gpu-run");
  move_to_gpu(gpu);
  const auto merged = call({kBinary, "--store", place / "store", "merge", "--json", "--no-report", cpu, "gpu=" + gpu,
                            "--out", place / "merged"});
  INFO(merged.out << merged.err);
  const auto cells = cells_by_slug(json::parse(merged.out));
  const json& on_gpu = cells.at("determinism-mlp-torch-2.9.0-cu128-sm_90");
  CHECK(on_gpu.at("coordinates").at("host") == "gpu");
  CHECK(on_gpu.at("reference_cell_id") == cells.at("determinism-mlp-torch-2.9.0-cu128-cpu").at("cell_id"));
  CHECK(check_of(on_gpu, "numerics.by_construction_mismatches").at("status") == "passed");
  CHECK(check_of(cells.at("throughput-mlp-torch-2.9.0-cu128-sm_90"), "throughput.step_time").at("reason") ==
        "not_comparable");
}

TEST_CASE("merging again changes nothing, and another merge does not go over it", "[e2e][merge]") {
  const TwoRuns runs;
  CHECK(runs.merge().exit_code == 0);
  const auto stamp = fs::last_write_time(runs.out() / "verdict.json");
  CHECK(runs.merge().exit_code == 0);
  CHECK(fs::last_write_time(runs.out() / "verdict.json") == stamp);
  const auto other = call({kBinary, "--store", runs.place_ / "store", "merge", runs.first_,
                           "gamma=" + runs.second_.string(), "--out", runs.out()});
  CHECK(other.exit_code == 5);
  CHECK(other.err.find("which is not made of these") != std::string::npos);
}

TEST_CASE("what a killed merge left behind is in nobody's way", "[e2e][merge]") {
  const TwoRuns runs;
  fs::create_directories(runs.place_ / ".merged.merging" / "cells" / "half");
  CHECK(runs.merge().exit_code == 0);
  CHECK_FALSE(fs::exists(runs.out() / "cells" / "half"));
}

TEST_CASE("runs that cannot be merged end with 2 or 5, name the reason and leave nothing", "[e2e][merge]") {
  const TwoRuns runs("ok", "smoke");
  int expected = 2;
  std::string why;
  const auto edited = [&](const std::string& field, const json& value) {
    json info = json::parse(read_file(runs.second_ / "run.json"));
    info[json::json_pointer(field)] = value;
    std::ofstream(runs.second_ / "run.json") << info.dump();
    fs::remove(runs.second_ / "verdict.json");  // which holds the run to what it said when it was judged
  };
  int held = -1;
  SECTION("another matrix") {
    edited("/matrix_digest", "00ff");
    why = "the runs are of different matrices";
  }
  SECTION("a contract this build does not read") {
    edited("/version/major", 1);
    expected = 5;
    why = "run: version 1.0 cannot be read by contract 2.0; reprobench 0.2.0 is the last that reads it";
  }
  SECTION("a run whose coordinator died") {
    edited("/ended_utc", "");
    why = "never ended";
  }
  SECTION("a run that is being written") {
    held = open((runs.second_ / "lock").c_str(), O_RDWR);
    REQUIRE(flock(held, LOCK_EX | LOCK_NB) == 0);
    expected = 5;
    why = "is held by pid";
  }
  SECTION("a journal with a damaged line") {
    std::string journal = read_file(runs.second_ / "journal.jsonl");
    journal[journal.size() / 2] ^= 1;
    std::ofstream(runs.second_ / "journal.jsonl", std::ios::binary) << journal;
    expected = 5;
    why = "journal.jsonl:";
  }
  SECTION("the same run") {
    fs::remove_all(runs.second_);
    fs::copy(runs.first_, runs.second_, fs::copy_options::recursive);
    why = "is given twice";
  }
  SECTION("no run") {
    fs::remove(runs.second_ / "run.json");
    why = "is no run: it has no run.json";
  }
  const auto result = runs.merge();
  INFO(result.out << result.err);
  CHECK(result.exit_code == expected);
  CHECK(result.err.find(why) != std::string::npos);
  CHECK_FALSE(fs::exists(runs.out()));
  if (held >= 0) close(held);
}

}  // namespace
}  // namespace reprobench

// `merge` as its users meet it: two real run directories of the fake worker become one.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "matrix/cli/workplace_fixture.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

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

TEST_CASE("merging two runs makes an ordinary run directory with the cells of both", "[e2e]") {
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
  CHECK(explained.out.find("197 > 0; first at step 5") != std::string::npos);
  CHECK(verb({"compare", runs.out(), runs.out()}).exit_code == 0);
  CHECK(verb({"db", "list"}).out.find(verdict.at("info").at("run_id").get<std::string>()) != std::string::npos);
}

json check_of(const json& cell, const std::string& metric) {
  for (const json& check : cell.at("checks")) {
    if (check.at("metric") == metric) return check;
  }
  FAIL("no check " << metric);
  return {};
}

TEST_CASE("a cell that two hosts ran says whether they agree, and a run on one host has no such check", "[e2e]") {
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

TEST_CASE("merging again changes nothing, and another merge does not go over it", "[e2e]") {
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

TEST_CASE("what a killed merge left behind is in nobody's way", "[e2e]") {
  const TwoRuns runs;
  fs::create_directories(runs.place_ / ".merged.merging" / "cells" / "half");
  CHECK(runs.merge().exit_code == 0);
  CHECK_FALSE(fs::exists(runs.out() / "cells" / "half"));
}

TEST_CASE("runs that cannot be merged end with 2 or 5, name the reason and leave nothing", "[e2e]") {
  const TwoRuns runs("ok", "smoke");
  int expected = 2;
  std::string why;
  const auto edited = [&](const std::string& field, const json& value) {
    json info = json::parse(read_file(runs.second_ / "run.json"));
    info[json::json_pointer(field)] = value;
    std::ofstream(runs.second_ / "run.json") << info.dump();
  };
  int held = -1;
  SECTION("another matrix") {
    edited("/matrix_digest", "00ff");
    why = "the runs are of different matrices";
  }
  SECTION("a contract this build does not read") {
    edited("/version/major", 2);
    expected = 5;
    why = "run: version 2.0 cannot be read by contract 1.0";
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
    why = "no run `";
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

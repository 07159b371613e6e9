// Runs whose ranks an outer launcher started: as many processes of one command, each with torchrun's variables.
#include <chrono>
#include <thread>

#include <signal.h>
#include <sys/wait.h>

#include "ci/catch.hpp"
#include "matrix/cli/workplace_fixture.hpp"
#include "matrix/exec/process_spawn.hpp"

namespace reprobench {
namespace {

using Variables = std::map<std::string, std::string>;

class Launch {
 public:
  explicit Launch(int ranks, int world_size = 0) : ranks_(ranks) {
    std::ofstream(place / "joined.yaml") << "schema: 1\nname: joined\nsuites: [smoke]\naxes: {stack: "
                                            "[torch-2.9.0-cu128], device: [cpu], world_size: ["
                                         << (world_size > 0 ? world_size : ranks)
                                         << "]}\nexclude: [{where: \"workload != mlp\"}]\n"
                                            "limits: {first_heartbeat: 20s, heartbeat_gap: 2s, grace: 1s}\n";
  }

  std::vector<std::string> command(const std::string& behaviour, const std::string& wait_s = "20") const {
    return {kBinary,       "--store",     place / "store",
            "run",         "--matrix",    place / "joined.yaml",
            "--no-report", "--worker",    "torch-2.9.0-cu128=" + kFakeWorker + " --do " + behaviour,
            "--join",      "--join-wait", wait_s};
  }

  // What torchrun tells the process of that rank.
  Variables variables(int rank) const {
    return {{"RANK", std::to_string(rank)},
            {"LOCAL_RANK", std::to_string(rank)},
            {"WORLD_SIZE", std::to_string(ranks_)},
            {"LOCAL_WORLD_SIZE", std::to_string(ranks_)},
            {"MASTER_ADDR", "127.0.0.1"},
            {"MASTER_PORT", "29500"},
            {"TORCHELASTIC_RUN_ID", place / "store"}};
  }

  SubprocessResult run_rank(const std::vector<std::string>& words, const Variables& variables) const {
    SubprocessOptions options;
    options.command = words;
    options.environment = inherited_environment();
    options.working_directory = std::filesystem::current_path();
    for (const auto& [name, value] : variables) (*options.environment)[name] = value;
    options.timeout = std::chrono::minutes(2);
    return run_subprocess(options);
  }

  // Of each process what it said and ended with; `numbers`: the ranks that the launcher gives out.
  std::vector<SubprocessResult> run(const std::string& behaviour, const std::vector<int>& numbers,
                                    const std::string& wait_s = "20") const {
    std::vector<SubprocessResult> results(numbers.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      threads.emplace_back([&, i] { results[i] = run_rank(command(behaviour, wait_s), variables(numbers[i])); });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }

  // The attempt's folder of the only run.
  std::filesystem::path attempt() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(place.run_folder() / "cells")) {
      if (entry.path().filename() == "rank-0") return entry.path().parent_path();
    }
    FAIL("no attempt");
    return {};
  }

  Workplace place;

 private:
  int ranks_;
};

nlohmann::json json_of(const std::filesystem::path& path) { return nlohmann::json::parse(read_file(path)); }

TEST_CASE("the processes of an outer launcher are the ranks, and all leave with the verdict's exit code",
          "[e2e][join]") {
  const Launch launch(4);
  const auto results = launch.run("lockstep", {2, 0, 3, 1});
  for (const SubprocessResult& result : results) {
    INFO(result.err);
    CHECK(result.exit_code == 0);
  }
  CHECK_THAT(results[1].out, Catch::Contains("Verdict PASSED"));
  CHECK(results[0].out.empty());
  const auto verdict = launch.place.verdict();
  REQUIRE(verdict["cells"].size() == 1);
  CHECK(verdict["cells"][0]["outcome"] == "passed");
  // Every rank has its whole proof, and the meeting point is the launcher's.
  for (int rank = 0; rank < 4; ++rank) {
    const auto folder = launch.attempt() / ("rank-" + std::to_string(rank));
    CHECK(json_of(folder / "exit.json")["exit_code"] == 0);
    CHECK(json_of(folder / "result.json")["rank"] == rank);
  }
}

TEST_CASE("#41: the cell on one rank that a joined cell is compared with runs on the first process", "[e2e][join]") {
  const Launch launch(2);
  std::ofstream(launch.place / "joined.yaml")
      << "schema: 1\nname: joined\nsuites: [parallel]\naxes: {stack: [torch-2.9.0-cu128], device: [cpu], world_size: "
         "[1, 2], accumulate: [1, 2]}\nexclude: [{where: \"workload != mlp or world_size == 1 and accumulate == 1 or "
         "world_size == 2 and accumulate == 2\"}]\n";
  for (const SubprocessResult& result : launch.run("lockstep", {0, 1})) {
    INFO(result.err);
    CHECK(result.exit_code == 3);  // the fake worker says nothing of state in memory, which the suite asks for
  }
  const auto verdict = launch.place.verdict();
  REQUIRE(verdict["cells"].size() == 2);
  CHECK(verdict["cells"][0]["outcome"] == "passed");
  CHECK(verdict["cells"][1]["coordinates"]["world_size"] == "2");
  const auto& checks = verdict["cells"][1]["checks"];
  const auto layout =
      std::ranges::find(checks, "numerics.layout_mismatches", [](const auto& c) { return c["metric"]; });
  REQUIRE(layout != checks.end());
  CHECK((*layout)["status"] == "passed");
}

TEST_CASE("ranks of an outer launcher take no turns, whatever the suite says", "[e2e][join]") {
  const Launch launch(2);
  std::ofstream(launch.place / "joined.yaml")
      << "schema: 1\nname: joined\nsuites: [throughput]\nrepeat: 1\naxes: {stack: [torch-2.9.0-cu128], device: [cpu], "
         "world_size: [2]}\nexclude: [{where: \"workload != mlp\"}]\nreference: {stack: torch-2.9.0-cu128}\n";
  launch.run("ok", {0, 1});
  for (int rank = 0; rank < 2; ++rank) {
    const auto folder = launch.attempt() / ("rank-" + std::to_string(rank));
    CHECK(json_of(folder / "result.json")["steps_completed"] == 3'000);
    CHECK_FALSE(json_of(folder / "request.json").contains("turn_steps"));
    CHECK_FALSE(std::filesystem::exists(folder / "turns.jsonl"));
  }
}

TEST_CASE("a rank of an outer launcher that fails is named, and every process says so by its exit code",
          "[e2e][join]") {
  const auto [behaviour, reason, words] = GENERATE(table<std::string, std::string, std::string>({
      {"lockstep,crash=9,rank=2", "crash", "rank 2: SIGKILL that reprobench did not send"},
      {"wrong_nonce,rank=1", "contract", "rank 1: result.json: nonce 0000000000000000"},
      {"hang,rank=3", "hang", "rank 3: no heartbeat for 2 s"},
      {"leak,rank=1", "leaked", "rank 1: 1 process was alive after the worker ended, and killed"},
  }));
  const Launch launch(4);
  for (const SubprocessResult& result : launch.run(behaviour, {0, 1, 2, 3})) {
    INFO(result.err);
    CHECK(result.exit_code == 1);
  }
  const auto cell = launch.place.verdict()["cells"][0];
  CHECK(cell["reason"] == reason);
  CHECK_THAT(cell["sentence"].get<std::string>(), Catch::Contains(words));
}

TEST_CASE("a launch of another size than the cell is refused by all ranks in rank 0's words", "[e2e][join]") {
  const Launch launch(3, /*world_size=*/2);
  for (const SubprocessResult& result : launch.run("ok", {0, 1, 2})) {
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.err, Catch::Contains("has world_size 2, and the outer launcher started 3 ranks"));
  }
  CHECK_FALSE(std::filesystem::exists(launch.place / "store/runs"));
}

TEST_CASE("a rank that does not come, and one that comes twice, is refused by number", "[e2e][join]") {
  const auto [numbers, words] = GENERATE(table<std::vector<int>, std::string>({
      {{0, 1, 3}, "of 4 ranks these did not come within 5 s: 2"},
      {{0, 1, 1, 3}, "rank 1 is there twice, processes "},
  }));
  const Launch launch(4);
  for (const SubprocessResult& result : launch.run("ok", numbers, "5")) {
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.err, Catch::Contains(words));
  }
  CHECK_FALSE(std::filesystem::exists(launch.place / "store/runs"));
}

TEST_CASE("two processes that are both rank 0 do not both run", "[e2e][join]") {
  const Launch launch(2);
  const auto results = launch.run("ok", {0, 0}, "2");
  CHECK(results[0].exit_code == 2);
  CHECK(results[1].exit_code == 2);
  CHECK_THAT(results[0].err + results[1].err, Catch::Contains("another process is rank 0 of this launch") &&
                                                  Catch::Contains("did not come within 2 s: 1"));
}

TEST_CASE("variables that contradict each other are refused before anything is asked of the others", "[e2e][join]") {
  const Launch launch(2);
  Variables variables = launch.variables(1);
  variables["RANK"] = "2";
  const SubprocessResult beyond = launch.run_rank(launch.command("ok"), variables);
  CHECK(beyond.exit_code == 2);
  CHECK_THAT(beyond.err, Catch::Contains("RANK=`2` is no whole number from 0 to 1"));
  variables = launch.variables(1);
  for (const auto& [name, value] : Variables{{"SLURM_STEP_ID", "0"},
                                             {"SLURM_JOB_ID", "1"},
                                             {"SLURM_PROCID", "0"},
                                             {"SLURM_LOCALID", "0"},
                                             {"SLURM_STEP_NUM_TASKS", "2"},
                                             {"SLURM_STEP_NUM_NODES", "1"}}) {
    variables[name] = value;
  }
  const SubprocessResult both = launch.run_rank(launch.command("ok"), variables);
  CHECK(both.exit_code == 2);
  CHECK_THAT(both.err, Catch::Contains("choose with `--join torchrun` or `--join slurm`"));
  const SubprocessResult alone = launch.run_rank(launch.command("ok"), {});
  CHECK(alone.exit_code == 2);
  CHECK_THAT(alone.err, Catch::Contains("has started this process"));
}

// A process of the launch that is started here, to be killed.
pid_t start_rank(const Launch& launch, int rank, const std::string& behaviour) {
  SpawnRequest request;
  request.command = launch.command(behaviour);
  request.environment = inherited_environment();
  for (const auto& [name, value] : launch.variables(rank)) (*request.environment)[name] = value;
  return spawn_process(request);
}

template <class Condition>
bool becomes_true(Condition condition) {
  for (int tries = 0; tries < 1'500; ++tries) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

bool trains(const Launch& launch, int rank) {
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(launch.place / "store", error), end; !error && entry != end;
       entry.increment(error)) {
    const auto& path = entry->path();
    if (path.filename() == "trace.jsonl" && path.parent_path().filename() == "rank-" + std::to_string(rank) &&
        std::filesystem::file_size(path, error) > 0) {
      return true;
    }
  }
  return false;
}

int exit_code_of_process(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_CASE("a process of the launch that is killed leaves its rank lost, and the run undecided", "[e2e][join]") {
  const Launch launch(2);
  const pid_t other = start_rank(launch, 1, "lockstep,paced=200");
  const pid_t first = start_rank(launch, 0, "lockstep,paced=200");
  REQUIRE(becomes_true([&] { return trains(launch, 1); }));
  kill(other, SIGKILL);
  CHECK(exit_code_of_process(other) == 128 + SIGKILL);
  CHECK(exit_code_of_process(first) == 3);
  const auto cell = launch.place.verdict()["cells"][0];
  CHECK(cell["outcome"] == "errored");
  CHECK_THAT(cell["sentence"].get<std::string>(), Catch::Contains("rank 1"));
}

TEST_CASE("without rank 0 the others stop what they run and leave undecided", "[e2e][join]") {
  const Launch launch(2);
  const pid_t other = start_rank(launch, 1, "hang");
  const pid_t first = start_rank(launch, 0, "hang");
  REQUIRE(becomes_true([&] { return trains(launch, 1); }));
  kill(first, SIGKILL);
  CHECK(exit_code_of_process(first) == 128 + SIGKILL);
  CHECK(exit_code_of_process(other) == 3);
  const auto record = launch.attempt() / "rank-1" / "exit.json";
  REQUIRE(becomes_true([&] { return std::filesystem::exists(record); }));
  CHECK(json_of(record)["stopped_by"] == "runner_death");
}

TEST_CASE("a launch that is terminated ends in good order on every rank", "[e2e][join]") {
  const Launch launch(2);
  const pid_t other = start_rank(launch, 1, "lockstep,paced=200");
  const pid_t first = start_rank(launch, 0, "lockstep,paced=200");
  REQUIRE(becomes_true([&] { return trains(launch, 1); }));
  kill(first, SIGTERM);  // as Slurm and torchrun do it
  kill(other, SIGTERM);
  CHECK(exit_code_of_process(first) == 143);
  CHECK(exit_code_of_process(other) == 143);
  CHECK(launch.place.verdict()["cells"][0]["outcome"] == "unfinished");
}

}  // namespace
}  // namespace reprobench

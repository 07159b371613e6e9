// Real process trees: the shepherd and the fake worker, each behaviour ending as its own class (the fault list
// F01-F40).
#include <fstream>
#include <sstream>
#include <thread>

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/exec/executor.hpp"
#include "matrix/exec/local_launcher.hpp"
#include "matrix/exec/sample_plan.hpp"
#include "matrix/record/plain_file.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::filesystem::path kShepherd = std::filesystem::path(REPROBENCH_BINARY_DIR) / "reprobench-shepherd";
const std::string kFakeWorker = std::string(REPROBENCH_BINARY_DIR) + "/reprobench-fake-worker";

// Processes whose command line names `needle`, by id.
std::vector<pid_t> processes_naming(const std::string& needle) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    const std::string command((std::istreambuf_iterator<char>(file)), {});
    if (pid > 0 && pid != getpid() && command.find(needle) != std::string::npos) found.push_back(pid);
  }
  return found;
}

template <class Condition>
bool becomes_true(Condition condition) {
  for (int tries = 0; tries < 1000; ++tries) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

// A run of cells whose stack is the name of what the fake worker shall do there.
struct ProcessScene {
  std::vector<CellRecord> run(const std::vector<std::string>& behaviours) {
    std::vector<Cell> cells;
    for (const std::string& behaviour : behaviours) {
      Cell cell = sample_cell("cell-" + std::to_string(cells.size()), behaviour);
      cell.limits = limits;
      cells.push_back(std::move(cell));
      workers.emplace(behaviour, WorkerCommand{{kFakeWorker}, {"--do", behaviour}, {}});
    }
    const Plan plan = sample_plan(std::move(cells));
    RunDirectory directory = sample_run(store.path, plan);
    folder = directory.folder();
    options.infra_retries = 0;
    return execute(plan, workers, launcher, clock, directory, options, observer);
  }

  // The end of a cell that does this, after which another cell has still been completed and no process is left.
  AttemptRecord end_of(const std::string& behaviour) {
    const auto records = run({behaviour, "ok"});
    REQUIRE(records.size() == 2);
    REQUIRE(records[0].attempts.size() == 1);
    REQUIRE(records[1].attempts.size() == 1);
    CHECK(records[1].attempts[0].end == AttemptEnd::completed);
    CHECK(processes_naming(folder.string()).empty());
    return records[0].attempts[0];
  }

  std::filesystem::path file_of(const AttemptRecord& attempt, const char* name) const {
    return folder / attempt.lead().folder / name;
  }

  TemporaryFolder store;
  std::filesystem::path folder;
  TimeLimits limits{seconds(20), seconds(20), seconds(20), milliseconds(300)};
  std::map<std::string, WorkerCommand> workers;
  LocalLauncher launcher{kShepherd};
  MonotonicClock clock;
  ExecutionOptions options;
  ExecutionObserver observer;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("a worker that does its work is completed, with an account of its resources", "[exec][process]") {
  ProcessScene scene;
  const AttemptRecord attempt = scene.end_of("ok");
  CHECK(attempt.end == AttemptEnd::completed);
  REQUIRE(attempt.lead().exit);
  CHECK(attempt.lead().exit->exit_code == 0);
  CHECK(attempt.lead().exit->leaked_processes == 0);
  CHECK(attempt.lead().exit->duration_ns > 0);
  CHECK(attempt.lead().exit->max_rss_bytes > 0);
  CHECK(attempt.lead().exit->stopped_by == StoppedBy::nobody);
}

TEST_CASE("F01: an exit code is recorded with the last line of stderr", "[exec][process]") {
  const AttemptRecord attempt = ProcessScene().end_of("exit=3");
  CHECK(attempt.end == AttemptEnd::nonzero);
  CHECK(attempt.detail == "exit code 3; last step 3; stderr: leaving early");
}

TEST_CASE("F02: a crash is recorded by the signal's name and the last step", "[exec][process]") {
  const auto [signal, name] = GENERATE(table<int, std::string>(
      {{SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGBUS, "SIGBUS"}}));
  const AttemptRecord attempt = ProcessScene().end_of("crash=" + std::to_string(signal));
  CHECK(attempt.end == AttemptEnd::crash);
  CHECK(attempt.detail == name + "; last step 3; stderr: about to crash");
}

TEST_CASE("a host's limit on the size of files is the infrastructure's fault", "[exec][process]") {
  ProcessScene scene;
  const AttemptRecord attempt = scene.end_of("crash=" + std::to_string(SIGXFSZ));
  CHECK(attempt.end == AttemptEnd::store);
  CHECK(side_of(attempt.end) == Side::infra);
  CHECK(attempt.detail ==
        "SIGXFSZ: a file grew beyond what this host lets a process write (ulimit -f); last step 3; stderr: about to "
        "crash");
  const RunRecord read_again = load_run(scene.folder.string());
  CHECK(read_again.cells[0].attempts[0].end == AttemptEnd::store);
  CHECK(read_again.cells[0].attempts[0].detail == attempt.detail);
}

TEST_CASE("a SIGKILL that was not ours is a crash that says so", "[exec][process]") {
  const AttemptRecord attempt = ProcessScene().end_of("crash=9");
  CHECK(attempt.end == AttemptEnd::crash);
  CHECK(contains(attempt.detail, "SIGKILL that reprobench did not send"));
}

TEST_CASE("F03-F06: output that proves nothing is a broken contract, named exactly", "[exec][process]") {
  const auto [behaviour, expected] = GENERATE(table<std::string, std::string>({
      {"no_result", "result.json: missing"},
      {"partial_result", "result.json: not JSON"},
      {"wrong_nonce", "result.json: nonce 0000000000000000 does not match expected "},
      {"wrong_cell", "result.json: cell_id 000000000000 does not match expected cell-0"},
      {"wrong_version", "result.json: result: version 99.2 cannot be read by contract 1.2"},
      {"truncated_trace", "trace.jsonl:8: line cut after "},
      {"bad_crc", "trace.jsonl:2: checksum is "},
  }));
  const AttemptRecord attempt = ProcessScene().end_of(behaviour);
  CHECK(attempt.end == AttemptEnd::contract);
  CHECK(attempt.detail.substr(0, expected.size()) == expected);
}

TEST_CASE("a caught exception comes through with its text and step", "[exec][process]") {
  const AttemptRecord attempt = ProcessScene().end_of("throw");
  CHECK(attempt.end == AttemptEnd::worker_error);
  CHECK(attempt.detail == "exception at step 3: synthetic exception at step 3");
}

TEST_CASE("F07: a flood of output is drained and cut to head and tail", "[exec][process]") {
  ProcessScene scene;
  const AttemptRecord attempt = scene.end_of("flood=100000000");
  CHECK(attempt.end == AttemptEnd::completed);
  CHECK(attempt.lead().exit->stdout_bytes >= 100'000'000);
  CHECK(std::filesystem::file_size(scene.file_of(attempt, "stdout.log")) < (4u << 20) + 100);
  CHECK(contains(read_file(scene.file_of(attempt, "stdout.log")), " bytes left out]"));
}

TEST_CASE("F08: a worker that closes its outputs is waited for", "[exec][process]") {
  CHECK(ProcessScene().end_of("close_stdout").end == AttemptEnd::completed);
}

TEST_CASE("F09: a worker deaf to TERM is killed after the grace", "[exec][process]") {
  ProcessScene scene;
  scene.limits.heartbeat_gap = milliseconds(500);
  const AttemptRecord attempt = scene.end_of("ignore_term");
  CHECK(attempt.end == AttemptEnd::hang);
  REQUIRE(attempt.lead().exit);
  CHECK(attempt.lead().exit->signal == SIGKILL);
  CHECK(attempt.lead().exit->stopped_by == StoppedBy::runner);
}

TEST_CASE("a worker that never comes to an end is stopped at the total limit", "[exec][process]") {
  ProcessScene scene;
  scene.limits.total = milliseconds(600);
  const AttemptRecord attempt = scene.end_of("trickle");
  CHECK(attempt.end == AttemptEnd::timeout);
  CHECK(attempt.lead().exit->signal == SIGTERM);
}

TEST_CASE("F10, F11: a child that outlives its worker is killed and the attempt is not passed", "[exec][process]") {
  const auto behaviour = GENERATE(std::string("leak"), std::string("setsid_child"));
  const AttemptRecord attempt = ProcessScene().end_of(behaviour);
  CHECK(attempt.end == AttemptEnd::leaked);
  CHECK(attempt.lead().exit->leaked_processes == 1);
}

TEST_CASE("F15: silence is a hang, whether from the start or half-way", "[exec][process]") {
  const auto behaviour = GENERATE(std::string("silent"), std::string("hang"));
  ProcessScene scene;
  scene.limits.first_heartbeat = scene.limits.heartbeat_gap = milliseconds(500);
  CHECK(scene.end_of(behaviour).end == AttemptEnd::hang);
}

TEST_CASE("F16: a stopped worker is a hang and dies all the same", "[exec][process]") {
  ProcessScene scene;
  scene.limits.heartbeat_gap = milliseconds(500);
  const AttemptRecord attempt = scene.end_of("stop");
  CHECK(attempt.end == AttemptEnd::hang);
  CHECK(attempt.lead().exit->signal == SIGTERM);
}

TEST_CASE("F20: killing the shepherd ends the worker, and the attempt is lost", "[exec][process]") {
  ProcessScene scene;
  bool killed = false;
  scene.observer.tick = [&] {
    for (const pid_t pid : killed ? std::vector<pid_t>{} : processes_naming(scene.store.path.string())) {
      const auto comm = read_plain_file("/proc/" + std::to_string(pid) + "/comm", 64);
      // The kernel keeps 15 characters of a process's name.
      if (!contains(std::get<std::string>(comm), "reprobench-shep")) continue;
      if (processes_naming(scene.store.path.string()).size() < 2) continue;
      kill(pid, SIGKILL);
      killed = true;
    }
  };
  const AttemptRecord attempt = scene.end_of("hang");
  CHECK(killed);
  CHECK(attempt.end == AttemptEnd::lost);
  CHECK(attempt.detail == "exit.json: missing");
}

TEST_CASE("F20: what a worker left behind does not outlive a killed shepherd", "[exec][process]") {
  ProcessScene scene;
  scene.options.infra_retries = 0;
  bool killed = false;
  scene.observer.tick = [&] {
    const auto processes = processes_naming(scene.store.path.string());
    if (killed || processes.size() < 3) return;  // the shepherd, the worker and its child
    for (const pid_t pid : processes) {
      const auto comm = read_plain_file("/proc/" + std::to_string(pid) + "/comm", 64);
      if (!contains(std::get<std::string>(comm), "reprobench-shep")) continue;
      kill(pid, SIGKILL);
      killed = true;
    }
  };
  const AttemptRecord attempt = scene.end_of("early_child,hang");
  CHECK(killed);
  CHECK(attempt.end == AttemptEnd::lost);
}

TEST_CASE("F21: when the runner is killed, no worker is left after the grace", "[exec][process]") {
  TemporaryFolder store;
  Plan plan = sample_plan({sample_cell("aaa", "stack-a")});
  plan.cells[0].cell.limits.grace = milliseconds(200);
  const pid_t runner = fork();
  REQUIRE(runner >= 0);
  if (runner == 0) {
    LocalLauncher launcher(kShepherd);
    RunDirectory directory = sample_run(store.path, plan);
    execute(plan, {{"stack-a", {{kFakeWorker}, {"--do", "ignore_term"}, {}}}}, launcher, MonotonicClock(), directory,
            {}, {});
    _exit(0);
  }
  // Shepherd and worker both name the store; the runner itself does not.
  REQUIRE(becomes_true([&] { return processes_naming(store.path.string()).size() == 2; }));
  kill(runner, SIGKILL);
  waitpid(runner, nullptr, 0);
  CHECK(becomes_true([&] { return processes_naming(store.path.string()).empty(); }));

  const RunRecord record = load_run((store.path / "runs" / "r-20260101-000000-0001").string());
  REQUIRE(record.cells.at(0).attempts.size() == 1);
  CHECK(record.cells[0].attempts[0].end == AttemptEnd::lost);
  CHECK(record.cells[0].attempts[0].lead().exit->stopped_by == StoppedBy::runner_death);
}

TEST_CASE("F40: a worker that cannot be executed is a launch failure with the system's words", "[exec][process]") {
  ProcessScene scene;
  const auto plain = scene.store.path / "plain.txt";
  std::ofstream(plain) << "no program";
  const auto wrong_elf = scene.store.path / "wrong-elf";
  std::ofstream(wrong_elf) << "\x7f"
                           << "ELF garbage";
  chmod(wrong_elf.c_str(), 0700);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {(scene.store.path / "absent").string(), "No such file"},
      {plain.string(), "Permission denied"},
      {wrong_elf.string(), "Exec format error"}};
  for (const auto& [path, words] : cases) scene.workers[words] = {{path}, {}, {}};
  const auto records = scene.run({cases[0].second, cases[1].second, cases[2].second, "ok"});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const AttemptRecord& attempt = records[i].attempts.at(0);
    CHECK(attempt.end == AttemptEnd::launch);
    CHECK(contains(attempt.detail, "cannot execute " + cases[i].first + ": " + cases[i].second));
  }
  CHECK(records[3].attempts.at(0).end == AttemptEnd::completed);
}

TEST_CASE("F40: a missing shared library is a launch failure with the loader's words", "[exec][process]") {
  ProcessScene scene;
  const auto script = scene.store.path / "loader.sh";
  std::ofstream(script)
      << "#!/bin/sh\n"
      << "echo \"worker: error while loading shared libraries: libtorch.so: cannot open shared object "
         "file\" >&2\nexit 127\n";
  chmod(script.c_str(), 0700);
  scene.workers["broken"] = {{script.string()}, {}, {}};
  const auto records = scene.run({"broken"});
  CHECK(records[0].attempts.at(0).end == AttemptEnd::launch);
  CHECK(contains(records[0].attempts.at(0).detail, "libtorch.so: cannot open shared object file"));
}

TEST_CASE("F41: a worker's own exit code 127 stays what it is", "[exec][process]") {
  CHECK(ProcessScene().end_of("exit=127").end == AttemptEnd::nonzero);
}

TEST_CASE("two runs of the fake worker give the same digests, and drift does not", "[exec][process]") {
  ProcessScene scene;
  std::map<std::string, std::vector<std::string>> chains;
  Plan plan = sample_plan({sample_cell("aaa", "ok"), sample_cell("bbb", "drift"), sample_cell("ccc", "ok_other_bits")});
  for (PlannedCell& planned : plan.cells) {
    planned.cell.repeat = 2;
    const std::string& stack = planned.cell.request.stack;
    scene.workers[stack] = {{kFakeWorker}, {"--do", stack}, {}};
  }
  RunDirectory directory = sample_run(scene.store.path, plan);
  for (const CellRecord& cell : execute(plan, scene.workers, scene.launcher, scene.clock, directory, {}, {})) {
    for (const AttemptRecord& attempt : cell.attempts) chains[cell.cell_id].push_back(attempt.lead().result->chain);
  }
  CHECK(chains["aaa"].at(0) == chains["aaa"].at(1));
  CHECK(chains["bbb"].at(0) != chains["bbb"].at(1));
  CHECK(chains["ccc"].at(0) == chains["ccc"].at(1));
  CHECK(chains["ccc"].at(0) != chains["aaa"].at(0));
}

TEST_CASE("a script chooses the behaviour by stack and repeat", "[exec][process]") {
  ProcessScene scene;
  const auto script = scene.store.path / "script.json";
  std::ofstream(script) << R"({"stack-b/1": "exit=4", "stack-b": "ok", "aaa": "exit=5"})";
  Plan plan = sample_plan({sample_cell("aaa", "stack-a"), sample_cell("bbb", "stack-b")});
  plan.cells[1].cell.repeat = 2;
  const WorkerCommand worker{{kFakeWorker}, {"--data", "/nowhere", "--script", script.string()}, {}};
  RunDirectory directory = sample_run(scene.store.path, plan);
  const auto records =
      execute(plan, {{"stack-a", worker}, {"stack-b", worker}}, scene.launcher, scene.clock, directory, {}, {});
  CHECK(records[0].attempts.at(0).lead().exit->exit_code == 5);
  CHECK(records[1].attempts.at(0).end == AttemptEnd::completed);
  CHECK(records[1].attempts.at(1).lead().exit->exit_code == 4);
}

}  // namespace
}  // namespace reprobench

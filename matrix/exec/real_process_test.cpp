// Real process trees: the shepherd and the fake worker, each behaviour ending as its own class (the fault list
// F01-F40).
#include <algorithm>
#include <fstream>

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "matrix/exec/process_scene.hpp"

namespace reprobench {
namespace {

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

// Half of 400 steps are done when it dies.
TEST_CASE("a worker that is killed has its last 64 steps on record, tensor by tensor", "[exec][process]") {
  ProcessScene scene;
  scene.level = TraceLevel::recent;
  scene.steps = 400;
  const AttemptRecord attempt = scene.end_of("crash=9");
  CHECK(attempt.end == AttemptEnd::crash);
  CHECK(contains(attempt.detail, "; last step 200; stderr"));
  const Trace trace = read_trace(scene.file_of(attempt, "trace.jsonl"), "cell-0", attempt.nonce);
  CHECK(trace.recent_problem.empty());
  CHECK(trace.steps.size() == 200);
  for (std::int64_t step = 137; step <= 200; ++step) {
    CHECK(std::ranges::count(trace.tensors, step, &TensorsRecord::step) == 1);
  }
  CHECK(trace.recent_tensors == 63);  // step 200 is in the trace
}

TEST_CASE("a trace of level `recent` whose segments are gone proves nothing", "[exec][process]") {
  ProcessScene scene;
  scene.level = TraceLevel::recent;
  scene.steps = 400;
  const AttemptRecord attempt = scene.end_of("lost_segments");
  CHECK(attempt.end == AttemptEnd::contract);
  CHECK(attempt.detail == "trace.jsonl: the tensors of step 337 are on record nowhere");
}

TEST_CASE("F03-F06: output that proves nothing is a broken contract, named exactly", "[exec][process]") {
  const auto [behaviour, expected] = GENERATE(table<std::string, std::string>({
      {"no_result", "result.json: missing"},
      {"partial_result", "result.json: not JSON"},
      {"wrong_nonce", "result.json: nonce 0000000000000000 does not match expected "},
      {"wrong_cell", "result.json: cell_id 000000000000 does not match expected cell-0"},
      {"wrong_version", "result.json: result: version 99."},
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

TEST_CASE("F14: a worker is what the kernel ends first where a host has no memory left", "[exec][process]") {
  ProcessScene scene;
  const auto script = scene.store.path / "victim.sh";
  std::ofstream(script) << "#!/bin/sh\necho \"adjusted by $(cat /proc/self/oom_score_adj)\" >&2\nexit 5\n";
  chmod(script.c_str(), 0700);
  scene.workers["victim"] = {{script.string()}, {}, {}};
  const auto records = scene.run({"victim"});
  CHECK(contains(records[0].attempts.at(0).detail, "adjusted by 1000"));
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

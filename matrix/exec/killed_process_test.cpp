// What is left when a shepherd or the runner itself is killed: nothing that trains on.
#include <signal.h>
#include <sys/wait.h>

#include "matrix/exec/process_scene.hpp"
#include "matrix/record/plain_file.hpp"

namespace reprobench {
namespace {

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

TEST_CASE("F20: what a worker left behind does not outlive a killed shepherd, nor in a session of its own",
          "[exec][process]") {
  const std::string child = GENERATE(std::string("early_child"), std::string("early_setsid_child"));
  ProcessScene scene;
  scene.options.infra_retries = 0;
  bool killed = false;
  scene.observer.tick = [&] {
    const auto processes = processes_naming(scene.store.path.string());
    if (killed || processes.size() < 3) return;  // the shepherd, the worker and what it left behind
    for (const pid_t pid : processes) {
      const auto comm = read_plain_file("/proc/" + std::to_string(pid) + "/comm", 64);
      if (!contains(std::get<std::string>(comm), "reprobench-shep")) continue;
      kill(pid, SIGKILL);
      killed = true;
    }
  };
  const AttemptRecord attempt = scene.end_of(child + ",hang");
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

}  // namespace
}  // namespace reprobench

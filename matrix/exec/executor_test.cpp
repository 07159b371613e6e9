// Order, limits and interruption of attempts.
#include <fmt/format.h>

#include "matrix/exec/executor_scene.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("a cell whose worker finishes well is completed", "[exec]") {
  ExecutorScene scene({finishes_ok()});
  const auto records = scene.run(sample_plan({sample_cell("aaa", "stack-a")}));
  REQUIRE(records.size() == 1);
  REQUIRE(records[0].attempts.size() == 1);
  CHECK(records[0].attempts[0].end == AttemptEnd::completed);
  CHECK(records[0].attempts[0].detail == "exit code 0");
}

TEST_CASE("a worker that hangs is stopped, recorded as hang, and the next cell runs", "[exec]") {
  ExecutorScene scene({hangs(), finishes_ok()});
  Plan plan = two_cells();
  plan.cells[0].cell.limits.heartbeat_gap = seconds(30);
  plan.cells[0].cell.limits.grace = seconds(10);
  const auto records = scene.run(plan);
  REQUIRE(records.size() == 2);
  CHECK(records[0].attempts.at(0).end == AttemptEnd::hang);
  CHECK(records[0].attempts.at(0).detail == "no heartbeat for 30 s");
  CHECK(scene.launcher.signals[0] == std::vector{SIGTERM, SIGKILL});
  CHECK(records[1].attempts.at(0).end == AttemptEnd::completed);
}

TEST_CASE("a worker that beats but never ends is stopped at the total limit", "[exec]") {
  ExecutorScene scene({runs_for_ever()});
  Plan plan = sample_plan({sample_cell("aaa", "stack-a")});
  plan.cells[0].cell.limits.total = seconds(20);
  const auto records = scene.run(plan);
  CHECK(records[0].attempts.at(0).end == AttemptEnd::timeout);
  CHECK(scene.launcher.signals[0] == std::vector{SIGTERM});
  CHECK(scene.clock.now() < seconds(21));
}

TEST_CASE("a worker that never beats is a hang after the first-heartbeat limit", "[exec]") {
  FakeAttempt silent = hangs();
  silent.beats_until = milliseconds(-1);
  ExecutorScene scene({silent});
  Plan plan = sample_plan({sample_cell("aaa", "stack-a")});
  plan.cells[0].cell.limits.first_heartbeat = seconds(5);
  const auto records = scene.run(plan);
  CHECK(records[0].attempts.at(0).end == AttemptEnd::hang);
  CHECK(records[0].attempts.at(0).detail == "no first heartbeat within 5 s");
}

TEST_CASE("a tree that survives eight KILLs is given up and the run goes on", "[exec]") {
  FakeAttempt unkillable = hangs();
  unkillable.obeys_kill = false;
  ExecutorScene scene({unkillable, finishes_ok()});
  const auto records = scene.run(two_cells());
  CHECK(records[0].attempts.at(0).end == AttemptEnd::hang);
  CHECK(records[0].attempts.at(0).detail.find("still alive after 8 KILLs") != std::string::npos);
  CHECK(scene.launcher.signals[0].size() == 9);
  CHECK(records[1].attempts.at(0).end == AttemptEnd::completed);
}

TEST_CASE("repeats go round-robin over a reference and the cells compared with it", "[exec]") {
  ExecutorScene scene({});
  Plan plan = two_cells();
  plan.cells[0].cell.reference_cell_id = "bbb";
  plan.cells[0].cell.repeat = plan.cells[1].cell.repeat = 3;
  scene.run(plan);
  CHECK(stacks_started(scene.launcher) ==
        std::vector<std::string>{"stack-a/0", "stack-b/0", "stack-a/1", "stack-b/1", "stack-a/2", "stack-b/2"});
}

TEST_CASE("cells that nothing compares run one after the other", "[exec]") {
  ExecutorScene scene({});
  Plan plan = two_cells();
  plan.cells[0].cell.repeat = plan.cells[1].cell.repeat = 2;
  scene.run(plan);
  CHECK(stacks_started(scene.launcher) == std::vector<std::string>{"stack-a/0", "stack-a/1", "stack-b/0", "stack-b/1"});
}

// Candidates "aaa" and "ccc" with the reference "bbb", twice each and at most `max_repeat` times.
Plan open_to_noise(int max_repeat) {
  Plan plan =
      sample_plan({sample_cell("aaa", "stack-a"), sample_cell("bbb", "stack-b"), sample_cell("ccc", "stack-c")});
  plan.cells[0].cell.reference_cell_id = plan.cells[2].cell.reference_cell_id = "bbb";
  for (PlannedCell& planned : plan.cells) {
    planned.cell.repeat = 2;
    planned.cell.max_repeat = max_repeat;
  }
  return plan;
}

// What the observer was told, in its order.
struct Told {
  explicit Told(ExecutorScene& scene) {
    scene.observer.cell_ended = [this](const Cell& cell, const CellRecord& record) {
      said.push_back(cell.request.cell_id + " ended with " + std::to_string(record.attempts.size()));
    };
    scene.observer.repeats_added = [this](const Cell& cell, const FurtherRepeats& added) {
      said.push_back(cell.request.cell_id + " to " + std::to_string(added.until));
    };
  }
  std::vector<std::string> said;
};

TEST_CASE("what noise leaves open is repeated with its reference, round-robin and behind all else, until it is decided",
          "[exec]") {
  ExecutorScene scene({});
  Plan plan = open_to_noise(8);
  plan.cells.push_back({sample_cell("ddd", "stack-d"), std::nullopt, {}});
  Told told(scene);
  int looks = 0;
  scene.observer.open_for_noise = [&](const std::vector<const CellRecord*>& compared) {
    if (compared.size() == 1) return std::vector<std::string>{};  // ddd
    REQUIRE(compared.size() == 3);
    CHECK(compared[0]->attempts.size() == (looks == 0 ? 2 : 4));
    CHECK(compared[2]->attempts.size() == 2);
    return ++looks == 1 ? std::vector<std::string>{"aaa"} : std::vector<std::string>{};
  };
  const auto records = scene.run(plan);
  CHECK(looks == 2);
  CHECK(stacks_started(scene.launcher) == std::vector<std::string>{"stack-a/0", "stack-b/0", "stack-c/0", "stack-a/1",
                                                                   "stack-b/1", "stack-c/1", "stack-d/0", "stack-a/2",
                                                                   "stack-b/2", "stack-a/3", "stack-b/3"});
  CHECK(told.said == std::vector<std::string>{"aaa to 4", "bbb to 4", "ccc ended with 2", "ddd ended with 1",
                                              "aaa ended with 4", "bbb ended with 4"});
  CHECK(records[1].attempts.size() == 4);
}

TEST_CASE("nothing is repeated without end, nor where nobody judges or the user stops", "[exec]") {
  ExecutorScene scene({});
  Told told(scene);
  std::string all_ended = "aaa ended with 2 bbb ended with 2 ccc ended with 2 ";
  std::size_t attempts = 6;
  scene.observer.open_for_noise = [](const auto&) { return std::vector<std::string>{"aaa", "ccc", "no cell"}; };
  SECTION("as often as planned") {
    attempts = 24;
    all_ended =
        "aaa to 4 bbb to 4 ccc to 4 aaa to 8 bbb to 8 ccc to 8 "
        "aaa ended with 8 bbb ended with 8 ccc ended with 8 ";
  }
  SECTION("nobody judges") { scene.observer.open_for_noise = nullptr; }
  SECTION("the user stops") {
    scene.observer.attempt_ended = [&, left = 6](const Cell&, const AttemptRecord&) mutable {
      if (--left == 0) scene.interrupt = 1;
    };
  }
  scene.run(open_to_noise(8));
  std::string said;
  for (const std::string& what : told.said) said += what + " ";
  CHECK(said == all_ended);
  CHECK(scene.launcher.started.size() == attempts);
}

TEST_CASE("once enough has failed nothing is repeated for noise", "[exec]") {
  const FakeAttempt ok = finishes_ok();
  ExecutorScene scene({ok, ok, ok, ok, ok, exits_with(3)});
  scene.options.fail_fast = GENERATE(0, 1, 2);
  scene.observer.open_for_noise = [](const auto&) { return std::vector<std::string>{"aaa"}; };
  scene.run(open_to_noise(4));
  CHECK(scene.launcher.started.size() == (scene.options.fail_fast == 1 ? 6 : 10));
}

TEST_CASE("after the time of a run nothing more is launched, and what runs may end", "[exec]") {
  FakeAttempt slow = finishes_ok();
  slow.ends_after = seconds(30);
  const auto attempts_of = [&](milliseconds within) {
    ExecutorScene scene({slow, slow, slow});
    scene.options.launch_within = within;
    Plan plan = two_cells();
    plan.cells[0].cell.repeat = 2;
    const auto records = scene.run(plan);
    for (const AttemptRecord& attempt : records[0].attempts) CHECK(attempt.end == AttemptEnd::completed);
    return std::pair(records[0].attempts.size(), records[1].attempts.size());
  };
  CHECK(attempts_of(milliseconds(0)) == std::pair<std::size_t, std::size_t>{2, 1});
  CHECK(attempts_of(seconds(1)) == std::pair<std::size_t, std::size_t>{1, 0});
  CHECK(attempts_of(seconds(45)) == std::pair<std::size_t, std::size_t>{2, 0});
}

TEST_CASE("jobs bounds how many attempts run at once", "[exec]") {
  ExecutorScene scene({});
  scene.options.jobs = 3;
  Plan plan = sample_plan({sample_cell("aaa", "stack-a")});
  plan.cells[0].cell.repeat = 7;
  scene.run(plan);
  CHECK(scene.launcher.started.size() == 7);
  CHECK(scene.launcher.most_at_once == 3);
}

TEST_CASE("libraries of stacks that are timed against each other are read anew before every fourth round", "[exec]") {
  Plan plan = two_cells();
  for (PlannedCell& planned : plan.cells) {
    planned.cell.exclusive = true;
    planned.cell.repeat = 6;
  }
  plan.cells[0].cell.reference_cell_id = "bbb";
  ExecutorScene scene({});
  std::vector<std::string> read;
  scene.options.read_anew = [&](const std::vector<std::vector<std::filesystem::path>>& sides, bool is_reversed) {
    read.push_back(fmt::format("{} sides{} after {}", sides.size(), is_reversed ? " reversed" : "",
                               scene.launcher.started.size()));
    return ReadAnew{};
  };
  const std::vector<std::string> expected = {"2 sides after 0", "2 sides reversed after 8"};
  scene.run(plan);
  CHECK(read == expected);
  ExecutorScene retried({is_lost()});
  retried.options.read_anew = scene.options.read_anew;
  retried.run(plan);
  CHECK(retried.launcher.started.size() == 13);
  CHECK(read.size() == 4);  // a round that is begun again reads nothing again

  const auto is_read = [&](const Plan& changed) {
    ExecutorScene other({});
    bool was_read = false;
    other.options.read_anew = [&](const auto&, bool) {
      was_read = true;
      return ReadAnew{};
    };
    other.run(changed);
    return was_read;
  };
  CHECK(is_read(plan));
  Plan shared = plan;
  for (PlannedCell& planned : shared.cells) planned.cell.exclusive = false;
  CHECK_FALSE(is_read(shared));
  Plan of_one_stack = plan;
  of_one_stack.cells[1].cell.request.stack = of_one_stack.cells[0].cell.request.stack;
  CHECK_FALSE(is_read(of_one_stack));
  Plan unrelated = plan;
  unrelated.cells[0].cell.reference_cell_id.reset();
  CHECK_FALSE(is_read(unrelated));
}

TEST_CASE("an exclusive cell runs alone however many jobs there are", "[exec]") {
  ExecutorScene scene({});
  scene.options.jobs = 4;
  Plan plan = two_cells();
  plan.cells[1].cell.exclusive = true;
  plan.cells[1].cell.repeat = 3;
  scene.run(plan);
  CHECK(scene.launcher.started.size() == 4);
  CHECK(scene.launcher.most_at_once == 1);
}

TEST_CASE("attempts run side by side only while what they are said to need fits together", "[exec]") {
  ExecutorScene scene({});
  scene.options.jobs = 4;
  scene.options.available_bytes = 100;
  Plan plan = two_cells();
  plan.cells[0].cell.memory_bytes = 60;
  const auto [second, at_once] = GENERATE(std::pair(41, 1), std::pair(40, 2), std::pair(0, 2), std::pair(500, 1));
  plan.cells[1].cell.memory_bytes = second;
  const auto records = scene.run(plan);
  CHECK(scene.launcher.most_at_once == at_once);
  for (const CellRecord& record : records) CHECK(record.attempts.at(0).end == AttemptEnd::completed);
}

TEST_CASE("a cell whose stack has no worker is the caller's mistake, a skipped one is not", "[exec]") {
  ExecutorScene scene({});
  Plan plan = two_cells();
  RunDirectory directory = sample_run(scene.store.path, plan);
  const std::map<std::string, WorkerCommand> of_one_stack = {{"stack-b", {{"/worker"}, {}, {}}}};
  CHECK_THROWS_AS(execute(plan, of_one_stack, scene.launcher, scene.clock, directory, {}, {}), std::invalid_argument);
  plan.cells[0].skip = Skip{"device-class", "no such device"};
  CHECK(execute(plan, of_one_stack, scene.launcher, scene.clock, directory, {}, {}).size() == 2);
}

TEST_CASE("the terminal is told that time passes, also between a failed try and the next", "[exec]") {
  ExecutorScene scene({cannot_start()});
  std::chrono::nanoseconds last{0};
  std::chrono::nanoseconds longest{0};
  scene.observer.tick = [&] {
    longest = std::max(longest, scene.clock.now() - last);
    last = scene.clock.now();
  };
  scene.run(sample_plan({sample_cell("aaa", "stack-a")}));
  CHECK(last >= seconds(5));
  CHECK(longest <= milliseconds(200));
}

TEST_CASE("an attempt whose store failed is said to have, by the rank that saw it", "[exec][ranks]") {
  ExecutorScene scene({finishes_ok()});
  scene.launcher.end_cause = AttemptEnd::store;
  scene.options.infra_retries = 0;
  CHECK(scene.run(sample_plan({sample_cell("aaa", "stack-a")}))[0].attempts.at(0).end == AttemptEnd::store);
}

TEST_CASE("skipped cells have a record without attempts", "[exec]") {
  ExecutorScene scene({});
  Plan plan = two_cells();
  plan.cells[0].skip = Skip{"device-class", "no such device"};
  const auto records = scene.run(plan);
  REQUIRE(records.size() == 2);
  CHECK(records[0].attempts.empty());
  CHECK(records[1].attempts.size() == 1);
}

TEST_CASE("the first interrupt sends TERM, marks the attempt and launches nothing more", "[exec]") {
  ExecutorScene scene({runs_for_ever()});
  scene.launcher.on_wait = [&] { scene.interrupt = 1; };
  const auto records = scene.run(two_cells());
  CHECK(records[0].attempts.at(0).end == AttemptEnd::interrupted);
  CHECK(scene.launcher.signals[0] == std::vector{SIGTERM});
  CHECK(records[1].attempts.empty());
}

TEST_CASE("the second interrupt kills without waiting for the grace", "[exec]") {
  FakeAttempt deaf = runs_for_ever();
  deaf.obeys_term = false;
  ExecutorScene scene({deaf});
  int waits = 0;
  scene.launcher.on_wait = [&] { scene.interrupt = std::min(++waits, 2); };
  const auto records = scene.run(sample_plan({sample_cell("aaa", "stack-a")}));
  CHECK(records[0].attempts.at(0).end == AttemptEnd::interrupted);
  CHECK(scene.launcher.signals[0] == std::vector{SIGTERM, SIGKILL});
  CHECK(scene.clock.now() < seconds(2));
}

TEST_CASE("when the store is lost, running attempts are killed and the error comes through", "[exec]") {
  ExecutorScene scene({runs_for_ever(), finishes_ok()});
  scene.options.jobs = 2;
  // The second attempt's end cannot be written down: its folder's parent vanished with the store.
  scene.observer.attempt_started = [&](const Cell& cell, const CellRequest&) {
    if (cell.request.cell_id != "aaa") return;
    std::filesystem::remove_all(scene.store.path / "runs");
  };
  CHECK_THROWS_AS(scene.run(two_cells()), StoreError);
  CHECK(scene.launcher.signals.at(0) == std::vector{SIGKILL});
}

TEST_CASE("a timed cell does not run beside a process that could not be ended, others do", "[exec]") {
  FakeAttempt unkillable = hangs();
  unkillable.obeys_kill = false;
  ExecutorScene scene({unkillable});
  Plan plan =
      sample_plan({sample_cell("aaa", "stack-a"), sample_cell("bbb", "stack-b"), sample_cell("ccc", "stack-c")});
  plan.cells[1].cell.exclusive = true;
  const auto records = scene.run(plan);
  REQUIRE(records[1].attempts.size() == 1);
  CHECK(records[1].attempts[0].end == AttemptEnd::launch);
  CHECK(records[1].attempts[0].detail ==
        "nothing can be timed on this host any more: a process of smoke-mlp-stack-a-cpu-fp32 survived 8 KILLs");
  CHECK(records[2].attempts.at(0).end == AttemptEnd::completed);
  CHECK(scene.launcher.started.size() == 2);
}

TEST_CASE("a small cell waits for the exclusive one before it, and then for nobody", "[exec]") {
  ExecutorScene scene({});
  scene.options.jobs = 4;
  Plan plan =
      sample_plan({sample_cell("aaa", "stack-a"), sample_cell("bbb", "stack-b"), sample_cell("ccc", "stack-c")});
  plan.cells[0].cell.exclusive = true;
  scene.run(plan);
  CHECK(scene.launcher.started_at[1] - scene.launcher.started_at[0] >= milliseconds(100));
  CHECK(scene.launcher.started_at[2] == scene.launcher.started_at[1]);
  CHECK(scene.launcher.most_at_once == 2);
}

TEST_CASE("time in a queue is no hang and no part of the total limit", "[exec][ranks]") {
  FakeAttempt queued = finishes_ok();
  queued.queued_for = seconds(3'600);
  ExecutorScene scene({queued});
  Plan plan = sample_plan({sample_cell("aaa", "stack-a")});
  plan.cells[0].cell.limits = {seconds(5), seconds(5), seconds(20), seconds(1)};
  const auto records = scene.run(plan);
  REQUIRE(records[0].attempts.size() == 1);
  CHECK(records[0].attempts[0].end == AttemptEnd::completed);
  CHECK(scene.launcher.signals[0].empty());
  CHECK(scene.clock.now() >= seconds(3'600));
}

TEST_CASE("what started late is held to its limits from then on", "[exec][ranks]") {
  FakeAttempt silent = hangs();
  silent.queued_for = seconds(3'600);
  silent.beats_until = milliseconds(-1);
  ExecutorScene scene({silent});
  Plan plan = sample_plan({sample_cell("aaa", "stack-a")});
  plan.cells[0].cell.limits = {seconds(5), seconds(5), seconds(20), seconds(1)};
  CHECK(scene.run(plan)[0].attempts.at(0).detail == "no first heartbeat within 5 s");
  CHECK(scene.clock.now() < seconds(3'608));
}

}  // namespace
}  // namespace reprobench

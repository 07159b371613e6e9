#include "matrix/exec/executor.hpp"

#include "ci/catch.hpp"
#include "matrix/exec/fake_launcher.hpp"
#include "matrix/exec/sample_plan.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// One execution on fakes: what goes in is public, run() gives what comes out.
struct ExecutorScene {
  explicit ExecutorScene(std::vector<FakeAttempt> scripts) : launcher(clock, std::move(scripts)) {}

  std::vector<CellRecord> run(const Plan& plan) {
    std::map<std::string, WorkerCommand> workers;
    for (const PlannedCell& planned : plan.cells) workers[planned.cell.request.stack] = {{"/worker"}, {}, {}};
    RunDirectory directory = sample_run(store.path, plan);
    options.interrupt = &interrupt;
    return execute(plan, workers, launcher, clock, directory, options, observer);
  }

  TemporaryFolder store;
  FakeClock clock;
  FakeLauncher launcher;
  std::atomic<int> interrupt{0};
  ExecutionOptions options;
  ExecutionObserver observer;
};

Plan two_cells() { return sample_plan({sample_cell("aaa", "stack-a"), sample_cell("bbb", "stack-b")}); }

std::vector<std::string> stacks_started(const FakeLauncher& launcher) {
  std::vector<std::string> stacks;
  for (const LaunchRequest& request : launcher.started) {
    stacks.push_back(request.ranks[0].request.stack + "/" + std::to_string(request.ranks[0].request.repeat));
  }
  return stacks;
}

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

TEST_CASE("jobs bounds how many attempts run at once", "[exec]") {
  ExecutorScene scene({});
  scene.options.jobs = 3;
  Plan plan = sample_plan({sample_cell("aaa", "stack-a")});
  plan.cells[0].cell.repeat = 7;
  scene.run(plan);
  CHECK(scene.launcher.started.size() == 7);
  CHECK(scene.launcher.most_at_once == 3);
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

TEST_CASE("a lost attempt is retried with growing pauses and the retries are on record", "[exec]") {
  ExecutorScene scene({is_lost(), is_lost(), finishes_ok()});
  const auto records = scene.run(sample_plan({sample_cell("aaa", "stack-a")}));
  REQUIRE(records[0].attempts.size() == 3);
  CHECK(records[0].attempts[0].end == AttemptEnd::lost);
  CHECK(records[0].attempts[2].end == AttemptEnd::completed);
  CHECK(records[0].attempts[2].attempt == 2);
  CHECK(scene.launcher.started_at[1] - scene.launcher.started_at[0] >= seconds(5));
  CHECK(scene.launcher.started_at[2] - scene.launcher.started_at[1] >= seconds(10));
}

TEST_CASE("infrastructure is given up after two retries", "[exec]") {
  ExecutorScene scene({cannot_start(), cannot_start(), cannot_start()});
  int cells_ended = 0;
  scene.observer.cell_ended = [&](const Cell&, const CellRecord&) { ++cells_ended; };
  const auto records = scene.run(sample_plan({sample_cell("aaa", "stack-a")}));
  REQUIRE(records[0].attempts.size() == 3);
  CHECK(records[0].attempts[2].end == AttemptEnd::launch);
  CHECK(records[0].attempts[2].detail.find("cannot start fake") != std::string::npos);
  CHECK(cells_ended == 1);
}

TEST_CASE("a product failure is never retried", "[exec]") {
  ExecutorScene scene({exits_with(3), finishes_ok()});
  const auto records = scene.run(sample_plan({sample_cell("aaa", "stack-a")}));
  REQUIRE(records[0].attempts.size() == 1);
  CHECK(records[0].attempts[0].end == AttemptEnd::nonzero);
}

TEST_CASE("fail-fast launches nothing more after enough cells failed", "[exec]") {
  ExecutorScene scene({exits_with(3)});
  scene.options.fail_fast = 1;
  const auto records = scene.run(two_cells());
  CHECK(records[0].attempts.size() == 1);
  CHECK(records[1].attempts.empty());
}

TEST_CASE("fail-fast counts cells, not attempts, and those that failed by their checks too", "[exec]") {
  const auto cells_started = [](int fail_fast, std::vector<std::string> failed_by_checks) {
    ExecutorScene scene({exits_with(3), exits_with(3)});
    scene.options.fail_fast = fail_fast;
    if (!failed_by_checks.empty()) {
      scene.observer.failed_by_checks = [=](const CellRecord&) { return failed_by_checks; };
    }
    Plan plan =
        sample_plan({sample_cell("aaa", "stack-a"), sample_cell("bbb", "stack-b"), sample_cell("ccc", "stack-c")});
    plan.cells[0].cell.repeat = 2;  // both attempts of it fail, no other does
    std::size_t started = 0;
    for (const CellRecord& record : scene.run(plan)) started += record.attempts.empty() ? 0 : 1;
    return started;
  };
  CHECK(cells_started(1, {}) == 1);
  CHECK(cells_started(2, {}) == 3);
  CHECK(cells_started(0, {}) == 3);
  CHECK(cells_started(2, {"aaa"}) == 3);  // the same cell
  CHECK(cells_started(2, {"bbb"}) == 1);  // it and another that failed with it
  CHECK(cells_started(3, {"bbb", "ccc"}) == 1);
}

TEST_CASE("a cell has ended when all its repeats have, its retries with them", "[exec]") {
  ExecutorScene scene({finishes_ok(), is_lost(), finishes_ok()});
  std::vector<std::size_t> attempts_at_end;
  int judged = 0;
  int attempts_ended = 0;
  scene.observer.cell_ended = [&](const Cell&, const CellRecord& cell) {
    attempts_at_end.push_back(cell.attempts.size());
  };
  scene.observer.failed_by_checks = [&](const CellRecord&) { return ++judged, std::vector<std::string>{}; };
  scene.observer.attempt_ended = [&](const Cell&, const AttemptRecord&) { ++attempts_ended; };
  Plan plan = two_cells();
  plan.cells[0].cell.repeat = 2;
  const auto records = scene.run(plan);
  CHECK(attempts_at_end == std::vector<std::size_t>{1, 3});  // while the first pauses the other one ends
  CHECK(judged == 2);
  CHECK(attempts_ended == 4);
  REQUIRE(records[0].attempts.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(records[0].attempts[i].repeat == (i == 0 ? 0 : 1));
    CHECK(records[0].attempts[i].attempt == (i == 2 ? 1 : 0));
  }
}

TEST_CASE("records are by repeat and attempt, in whatever order the attempts ended", "[exec]") {
  FakeAttempt slow = finishes_ok();
  slow.ends_after = seconds(3);
  ExecutorScene scene({slow, finishes_ok(), finishes_ok()});
  scene.options.jobs = 3;
  Plan plan = sample_plan({sample_cell("aaa", "stack-a")});
  plan.cells[0].cell.repeat = 3;
  const auto records = scene.run(plan);
  REQUIRE(records[0].attempts.size() == 3);
  for (int i = 0; i < 3; ++i) CHECK(records[0].attempts[static_cast<std::size_t>(i)].repeat == i);
}

TEST_CASE("pauses between retries double from the first, and end on time", "[exec]") {
  ExecutorScene scene({cannot_start(), cannot_start(), cannot_start(), finishes_ok()});
  scene.options.infra_retries = 3;
  scene.options.retry_backoff = milliseconds(1'000);
  const auto records = scene.run(sample_plan({sample_cell("aaa", "stack-a")}));
  REQUIRE(records[0].attempts.size() == 4);
  const auto& at = scene.launcher.started_at;
  CHECK(at[0] == seconds(0));
  CHECK(at[1] == seconds(1));
  CHECK(at[2] == seconds(3));
  CHECK(at[3] == seconds(7));
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

TEST_CASE("only the last repeat is poisoned, and a fault is planted in its repeat alone", "[exec]") {
  ExecutorScene scene({});
  Plan plan = sample_plan({sample_cell("aaa", "stack-a")});
  Cell& cell = plan.cells[0].cell;
  cell.repeat = 3;
  cell.poison_last_repeat = true;
  cell.injections[1] = {"weight_ulp", 2, "fc1.weight", 5};
  scene.run(plan);
  const auto& started = scene.launcher.started;
  REQUIRE(started.size() == 3);
  CHECK_FALSE(started[0].ranks[0].request.poison_allocator);
  CHECK_FALSE(started[0].ranks[0].environment.contains("MALLOC_PERTURB_"));
  CHECK(started[2].ranks[0].request.poison_allocator);
  CHECK(started[2].ranks[0].environment.at("MALLOC_PERTURB_") == "165");
  CHECK_FALSE(started[0].ranks[0].request.inject);
  CHECK(started[1].ranks[0].request.inject);
  CHECK(started[0].ranks[0].request.nonce != started[1].ranks[0].request.nonce);
}

TEST_CASE("a worker's environment is built from empty, and knobs win over the stack", "[exec]") {
  setenv("REPROBENCH_TEST_SECRET", "hunter2", 1);
  ExecutorScene scene({});
  Cell cell = sample_cell("aaa", "stack-a");
  cell.request.knobs = {{"threads", "2"}};  // a planned cell has only what is not at its default
  scene.run(sample_plan({cell}));
  const auto& environment = scene.launcher.started.at(0).ranks[0].environment;
  CHECK_FALSE(environment.contains("REPROBENCH_TEST_SECRET"));
  CHECK(environment.at("TZ") == "UTC");
  CHECK(environment.at("LANG") == "C.UTF-8");
  CHECK(environment.at("OMP_NUM_THREADS") == "2");
  CHECK(environment.contains("MALLOC_TOP_PAD_"));  // of a default
  CHECK(environment.at("HOME") == scene.launcher.started[0].ranks[0].folder.string());
}

TEST_CASE("each rank is told who it is, and alone has the fault that was planted in it", "[exec][ranks]") {
  FakeAttempt script = finishes_ok();
  script.other_ranks = {finishes_ok()};
  ExecutorScene scene({script});
  Plan plan = sample_plan({sample_cell("aaa", "stack-a")});
  Cell& cell = plan.cells[0].cell;
  cell.request.world_size = 2;
  cell.request.knobs = {{"threads", "4"}};
  cell.limits = {seconds(8), seconds(5), seconds(60), seconds(1)};
  cell.injections[0] = {"weight_ulp", 2, "fc1.weight", 5, 1};
  scene.run(plan);
  const auto& ranks = scene.launcher.started.at(0).ranks;
  REQUIRE(ranks.size() == 2);
  CHECK_FALSE(ranks[0].request.inject);
  CHECK(ranks[1].request.inject);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const auto& environment = ranks[rank].environment;
    CHECK(environment.at("RANK") == std::to_string(rank));
    CHECK(environment.at("LOCAL_RANK") == std::to_string(rank));
    CHECK(environment.at("WORLD_SIZE") == "2");
    CHECK(environment.at("MASTER_ADDR") == "127.0.0.1");
    CHECK(environment.at("MASTER_PORT") == ranks[0].environment.at("MASTER_PORT"));
    CHECK(std::stoi(environment.at("MASTER_PORT")) > 1'023);
    CHECK(environment.at("OMP_NUM_THREADS") == "2");
    CHECK(ranks[rank].request.knobs.at("threads") == "4");
    CHECK(ranks[rank].request.collective_timeout_ms == 2'500);
  }
}

TEST_CASE("ranks wait for each other half as long as the shorter limit, and never without one", "[exec][ranks]") {
  const auto [first, gap, waits_ms] = GENERATE(table<int, int, std::int64_t>(
      {{8'000, 5'000, 2'500}, {5'000, 8'000, 2'500}, {3, 3, 1}, {1, 1, 1}}));  // 0 would be no limit
  ExecutorScene scene({});
  Plan plan = sample_plan({sample_cell("aaa", "stack-a")});
  plan.cells[0].cell.request.world_size = 2;
  plan.cells[0].cell.limits = {milliseconds(first), milliseconds(gap), seconds(60), seconds(1)};
  scene.options.infra_retries = 0;
  scene.run(plan);
  CHECK(scene.launcher.started.at(0).ranks[0].request.collective_timeout_ms == waits_ms);
}

TEST_CASE("a process that is alone hears nothing of ranks", "[exec][ranks]") {
  ExecutorScene scene({});
  scene.run(sample_plan({sample_cell("aaa", "stack-a")}));
  const auto& rank = scene.launcher.started.at(0).ranks.at(0);
  CHECK_FALSE(rank.environment.contains("RANK"));
  CHECK(rank.request.collective_timeout_ms == 0);
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

TEST_CASE("a queue limit ends as infrastructure, is retried and blames no stack", "[exec][ranks]") {
  FakeAttempt queued = finishes_ok();
  queued.queued_for = seconds(3'600);
  ExecutorScene scene({queued});
  scene.options.queue_limit = seconds(60);
  const auto records = scene.run(sample_plan({sample_cell("aaa", "stack-a")}));
  REQUIRE(records[0].attempts.size() == 2);
  CHECK(records[0].attempts[0].end == AttemptEnd::launch);
  CHECK(side_of(records[0].attempts[0].end) == Side::infra);
  CHECK(records[0].attempts[0].detail == "not started within the queue limit of 60 s");
  CHECK(records[0].attempts[1].end == AttemptEnd::completed);
}

// An attempt of two ranks that does this.
AttemptRecord attempt_of_two(const FakeAttempt& first, const FakeAttempt& second) {
  FakeAttempt script = first;
  script.other_ranks = {second};
  ExecutorScene scene({script});
  Plan plan = sample_plan({sample_cell("aaa", "stack-a")});
  plan.cells[0].cell.request.world_size = 2;
  plan.cells[0].cell.limits = {seconds(5), seconds(5), seconds(60), seconds(1)};
  scene.options.infra_retries = 0;
  const auto records = scene.run(plan);
  REQUIRE(records[0].attempts.size() == 1);
  REQUIRE(records[0].attempts[0].ranks.size() == 2);
  return records[0].attempts[0];
}

FakeAttempt after(FakeAttempt attempt, milliseconds time) {
  attempt.ends_after = time;
  return attempt;
}

TEST_CASE("an attempt is over when all its ranks are", "[exec][ranks]") {
  const AttemptRecord attempt = attempt_of_two(finishes_ok(), after(finishes_ok(), milliseconds(900)));
  CHECK(attempt.end == AttemptEnd::completed);
  CHECK(attempt.detail == "exit code 0");
  CHECK(attempt.ranks[1].result->rank == 1);
}

TEST_CASE("a rank that ends badly takes the others along and is the one that is named", "[exec][ranks]") {
  const AttemptRecord attempt = attempt_of_two(runs_for_ever(), after(exits_with(3), milliseconds(500)));
  CHECK(attempt.end == AttemptEnd::nonzero);
  CHECK(attempt.detail == "rank 1: exit code 3; last step 6");
  CHECK(attempt.ended_by == 1);
  CHECK_FALSE(attempt.ranks[0].end);
}

TEST_CASE("a rank that fails because another has ended is not named", "[exec][ranks]") {
  const AttemptRecord attempt =
      attempt_of_two(after(exits_with(1), milliseconds(900)), after(exits_with(3), milliseconds(500)));
  CHECK(attempt.ended_by == 1);
  CHECK(attempt.detail == "rank 1: exit code 3; last step 6");
  CHECK(attempt.ranks[0].end == AttemptEnd::nonzero);
}

TEST_CASE("the rank that fell silent first is the one that hangs", "[exec][ranks]") {
  FakeAttempt waits_for_peer = hangs();
  waits_for_peer.beats_until = milliseconds(1'500);
  const AttemptRecord attempt = attempt_of_two(waits_for_peer, hangs());
  CHECK(attempt.end == AttemptEnd::hang);
  CHECK(attempt.detail == "rank 1: no heartbeat for 5 s");
  CHECK(attempt.ended_by == 1);
  CHECK_FALSE(attempt.ranks[0].end);
}

TEST_CASE("ranks that fall silent together are not told apart", "[exec][ranks]") {
  const AttemptRecord attempt = attempt_of_two(hangs(), hangs());
  CHECK(attempt.end == AttemptEnd::hang);
  CHECK(attempt.detail == "no heartbeat for 5 s, several ranks fell silent together");
}

TEST_CASE("a rank that is done is not held to a heartbeat", "[exec][ranks]") {
  const AttemptRecord attempt = attempt_of_two(finishes_ok(), after(runs_for_ever(), seconds(30)));
  CHECK(attempt.end == AttemptEnd::completed);
}

TEST_CASE("a rank without files after its end is the lost one", "[exec][ranks]") {
  const AttemptRecord attempt = attempt_of_two(runs_for_ever(), is_lost());
  CHECK(attempt.end == AttemptEnd::lost);
  CHECK(attempt.detail == "rank 1: exit.json: missing");
}

}  // namespace
}  // namespace reprobench

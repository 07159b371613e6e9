#include "matrix/inquiry/replay_runner.hpp"

#include <fstream>

#include "ci/catch.hpp"
#include "ci/thrown.hpp"
#include "matrix/exec/fake_launcher.hpp"
#include "matrix/inquiry/scripted_replays.hpp"

namespace reprobench {
namespace {

struct RunnerSetup {
  explicit RunnerSetup(std::vector<FakeAttempt> scripts) : launcher(clock, std::move(scripts)) {}

  ReplayPlace place() const {
    ReplayPlace here;
    here.store = folder.path;
    here.workers["stack-a"].command = {"/worker"};
    return here;
  }

  std::vector<ReplayTask> tasks() const {
    ReplayTask first{"a-operators", synthetic_request()};
    first.request.trace = TraceLevel::step;
    ReplayTask second = first;
    second.purpose = "b-operators";
    second.request.inject = Injection{"weight_ulp", 3, "fc1.weight", 5};
    return {first, second};
  }

  std::size_t folders() const {
    const auto replays = folder.path / "replays";
    if (!std::filesystem::exists(replays)) return 0;
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(replays), {}));
  }

  TemporaryFolder folder;
  FakeClock clock;
  FakeLauncher launcher;
};

TEST_CASE("a replay runs through the executor and comes back with its folder and its trace", "[replay_runner]") {
  RunnerSetup setup({});
  ReplayRunner replays(setup.place(), setup.launcher, setup.clock);
  const auto outcomes = replays.run(setup.tasks());
  REQUIRE(outcomes.size() == 2);
  for (const ReplayOutcome& outcome : outcomes) {
    CHECK(outcome.attempt.end == AttemptEnd::completed);
    REQUIRE(outcome.attempt.lead().trace);
    CHECK(outcome.attempt.lead().trace->steps.size() == 6);
    CHECK(std::filesystem::exists(outcome.folder / "request.json"));
  }
  CHECK(setup.launcher.most_at_once == 2);
  CHECK(outcomes[0].folder != outcomes[1].folder);
}

TEST_CASE("a replay takes no turns, though the cell that it replays did", "[replay_runner]") {
  RunnerSetup setup({});
  ReplayRunner replays(setup.place(), setup.launcher, setup.clock);
  std::vector<ReplayTask> tasks = setup.tasks();
  for (ReplayTask& task : tasks) task.request.turn_steps = 2;
  const auto outcomes = replays.run(tasks);
  REQUIRE(outcomes.size() == 2);
  CHECK_FALSE(outcomes[0].attempt.lead().trace->steps.front().block);
  CHECK_FALSE(std::filesystem::exists(outcomes[0].folder / "turns.jsonl"));
}

TEST_CASE("replays that memory does not hold at once run one after the other", "[replay_runner]") {
  RunnerSetup setup({});
  ReplayPlace place = setup.place();
  std::int64_t available_bytes = 0;
  place.available_bytes = [&] { return available_bytes; };
  ReplayRunner replays(place, setup.launcher, setup.clock);
  const auto most_at_once = [&](std::vector<ReplayTask> tasks, std::int64_t state_bytes) {
    for (ReplayTask& task : tasks) task.state_bytes = state_bytes;
    setup.launcher.most_at_once = 0;
    replays.run(tasks);
    return setup.launcher.most_at_once;
  };
  available_bytes = 2'000'000;
  SECTION("by their state, before anything ran") { CHECK(most_at_once(setup.tasks(), 1'000'001) == 1); }
  SECTION("and side by side where it does") { CHECK(most_at_once(setup.tasks(), 1'000'000) == 2); }
  SECTION("by twice what the workload was seen to take, afterwards") {
    CHECK(most_at_once(setup.tasks(), 0) == 2);
    available_bytes = 4'000'000;  // each took 1 MB
    CHECK(most_at_once(setup.tasks(), 0) == 2);
    available_bytes = 3'999'999;
    CHECK(most_at_once(setup.tasks(), 0) == 1);
    std::vector<ReplayTask> others = setup.tasks();
    for (ReplayTask& task : others) task.request.workload.batch_size += 1;
    CHECK(most_at_once(others, 0) == 2);
  }
}

TEST_CASE("replays are held against what their workers say they take, before any is started", "[replay_runner]") {
  RunnerSetup setup({});
  ReplayPlace place = setup.place();
  place.available_bytes = [] { return std::int64_t{1'000'000'000}; };
  std::int64_t each = 0;
  int asked = 0;
  place.predict = [&](const CellRequest&, const WorkerCommand& worker) {
    ++asked;
    CHECK(worker.command.front() == "/worker");
    AttemptMemory need;
    need.activation_bytes = each;
    if (each == 0) need.why_not = "precision=bf16";
    return need;
  };
  ReplayRunner replays(place, setup.launcher, setup.clock);
  SECTION("both at once where both fit") {
    each = 500'000'000;
    replays.run(setup.tasks());
    CHECK(setup.launcher.most_at_once == 2);
  }
  SECTION("one after the other where they do not") {
    each = 500'000'001;
    replays.run(setup.tasks());
    CHECK(setup.launcher.most_at_once == 1);
  }
  SECTION("not at all where one does not fit alone") {
    each = 1'200'000'000;
    std::string said;
    try {
      replays.run(setup.tasks());
    } catch (const ReplayFailed& refused) {
      said = refused.what();
    }
    CAPTURE(said);
    CHECK(said.find(" needs about 1.2 GB: ") != std::string::npos);
    CHECK(said.find("; 1.0 GB are free; a smaller batch") != std::string::npos);
    CHECK(setup.launcher.started.empty());
  }
  SECTION("asked once, and anew for what takes another amount") {
    each = 500'000'000;
    std::vector<ReplayTask> tasks = setup.tasks();
    replays.run(tasks);
    const int of_first = asked;
    for (ReplayTask& task : tasks) task.request.workload.steps += 1;
    replays.run(tasks);
    CHECK(asked == of_first);
    each = 1'200'000'000;
    for (ReplayTask& task : tasks) task.request.workload.batch_size += 1;
    CHECK_THROWS_AS(replays.run(tasks), ReplayFailed);
    for (ReplayTask& task : tasks) {
      task.request.workload.batch_size -= 1;
      task.request.trace = task.request.trace == TraceLevel::step ? TraceLevel::tensor : TraceLevel::step;
    }
    CHECK_THROWS_AS(replays.run(tasks), ReplayFailed);
  }
  SECTION("as before where nobody predicted it") {
    replays.run(setup.tasks());
    CHECK(setup.launcher.most_at_once == 2);
  }
}

TEST_CASE("a replay that does not complete fails by name, or is handed out to who takes any end", "[replay_runner]") {
  RunnerSetup setup({exits_with(0), exits_with(3), exits_with(0), exits_with(3)});
  ReplayRunner replays(setup.place(), setup.launcher, setup.clock);
  const std::string said = message_of<ReplayFailed>([&] { replays.run(setup.tasks()); });
  CAPTURE(said);
  CHECK(said.find("`b-operators` on stack-a ended as nonzero") != std::string::npos);
  const auto outcomes = replays.run_to_any_end(setup.tasks());
  CHECK(outcomes[0].attempt.end == AttemptEnd::completed);
  CHECK(outcomes[1].attempt.end == AttemptEnd::nonzero);
}

TEST_CASE("what replays leave is removed by call or all together, and stays otherwise", "[replay_runner]") {
  RunnerSetup setup({});
  ReplayRunner replays(setup.place(), setup.launcher, setup.clock);
  const auto kept = replays.run(setup.tasks());
  const auto latest = replays.run(setup.tasks());
  CHECK(setup.folders() == 2);
  replays.remove_latest();
  CHECK_FALSE(std::filesystem::exists(latest.front().folder));
  CHECK(std::filesystem::exists(kept.front().folder));
  replays.run(setup.tasks());
  replays.remove_files();
  CHECK(setup.folders() == 0);
  CHECK_NOTHROW(replays.remove_latest());
}

TEST_CASE("a runner that is done leaves no files behind, however it ended, unless it is to keep them",
          "[replay_runner]") {
  const bool keeps_files = GENERATE(false, true);
  RunnerSetup setup({});
  ReplayPlace place = setup.place();
  place.keeps_files = keeps_files;
  {
    ReplayRunner replays(place, setup.launcher, setup.clock);
    replays.run(setup.tasks());
    CHECK(setup.folders() == 1);
  }
  CHECK(setup.folders() == (keeps_files ? 1 : 0));
}

TEST_CASE("of a replay that did not end well logs stay where the message says, and tensors go", "[replay_runner]") {
  RunnerSetup setup({exits_with(0), exits_with(3)});
  std::vector<ReplayOutcome> outcomes;
  {
    ReplayRunner replays(setup.place(), setup.launcher, setup.clock);
    outcomes = replays.run_to_any_end(setup.tasks());
    std::ofstream(outcomes[1].folder / "operators.safetensors") << "large";
  }
  CHECK(std::filesystem::exists(outcomes[1].folder / "request.json"));
  CHECK_FALSE(std::filesystem::exists(outcomes[1].folder / "operators.safetensors"));
}

TEST_CASE("a user who stops a replay stops the inquiry, not this replay alone", "[replay_runner]") {
  const auto [signal_number, was_terminated] = GENERATE(std::pair(SIGINT, false), std::pair(SIGTERM, true));
  RunnerSetup setup({runs_for_ever(), runs_for_ever()});
  setup.launcher.on_wait = [&, raised = false, number = signal_number]() mutable {
    if (!raised) raise(number);
    raised = true;
  };
  ReplayRunner replays(setup.place(), setup.launcher, setup.clock);
  try {
    replays.run(setup.tasks());
    FAIL("it went on");
  } catch (const ReplayInterrupted& stopped) {
    CHECK(stopped.was_terminated() == was_terminated);
  }
}

}  // namespace
}  // namespace reprobench

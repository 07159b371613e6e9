// Attempts that are resident together: one group, which ends, is retried and is recorded as one.
#include "matrix/exec/executor_scene.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Cells that take turns, compared with the first.
Plan residents(std::size_t count) {
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string letter(1, static_cast<char>('a' + i));
    Cell cell = sample_cell(letter + letter + letter, "stack-" + letter);
    cell.request.turn_steps = 6;
    cell.exclusive = true;
    if (i > 0) cell.reference_cell_id = "aaa";
    cells.push_back(std::move(cell));
  }
  return sample_plan(std::move(cells));
}

FakeAttempt ends_after(FakeAttempt attempt, int time_ms) {
  attempt.ends_after = milliseconds(time_ms);
  return attempt;
}

// "completed nonzero": of each cell the ends of its attempts, cells apart by a bar.
std::string ends_of(const std::vector<CellRecord>& records) {
  std::string text;
  for (const CellRecord& cell : records) {
    if (!text.empty()) text += " | ";
    for (const AttemptRecord& attempt : cell.attempts) {
      if (&attempt != &cell.attempts.front()) text += ' ';
      text += to_string(attempt.end);
    }
  }
  return text;
}

TEST_CASE("residents end in any order, and each is recorded in its own cell", "[exec]") {
  const auto [a, b, c] = GENERATE(table<int, int, int>(
      {{100, 500, 900}, {100, 900, 500}, {500, 100, 900}, {900, 100, 500}, {500, 900, 100}, {900, 500, 100}}));
  CAPTURE(a, b, c);
  ExecutorScene scene({ends_after(finishes_ok(), a), ends_after(exits_with(3), b), ends_after(finishes_ok(), c)});
  std::vector<std::string> ended;
  scene.observer.attempt_ended = [&](const Cell& cell, const AttemptRecord&) { ended.push_back(cell.request.cell_id); };
  const auto records = scene.run(residents(3));
  CHECK(ends_of(records) == "completed | nonzero | completed");
  std::vector<std::pair<int, std::string>> expected = {{a, "aaa"}, {b, "bbb"}, {c, "ccc"}};
  std::sort(expected.begin(), expected.end());
  REQUIRE(ended.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(ended[i] == expected[i].second);
  CHECK(scene.launcher.most_at_once == 3);
  CHECK(scene.clock.now() < seconds(2));
}

TEST_CASE("residents load one after the other, and the time they wait counts for no limit", "[exec]") {
  Plan plan = residents(3);
  for (PlannedCell& planned : plan.cells) planned.cell.limits = {seconds(5), seconds(5), seconds(5), seconds(1)};
  std::vector<FakeAttempt> scripts = {ends_after(finishes_ok(), 13'000), hangs(), ends_after(finishes_ok(), 5'000)};
  for (FakeAttempt& script : scripts) script.loads_for = milliseconds(3'500);
  scripts[1].loads_for = milliseconds(60'000);
  ExecutorScene scene(scripts);
  CHECK(ends_of(scene.run(plan)) == "completed | timeout | completed");
  REQUIRE(scene.launcher.started_at.size() == 3);
  CHECK(scene.launcher.started_at[0] == seconds(0));
  CHECK(scene.launcher.started_at[1] >= milliseconds(3'500));
  CHECK(scene.launcher.started_at[1] < milliseconds(3'700));
  CHECK(scene.launcher.started_at[2] >= scene.launcher.started_at[1] + seconds(5));  // the one before it has ended
}

TEST_CASE("residents that have not begun when the run is to end are left out", "[exec]") {
  FakeAttempt loads = runs_for_ever();
  loads.loads_for = milliseconds(60'000);
  ExecutorScene scene({loads});
  scene.launcher.on_wait = [&] {
    if (scene.clock.now() > seconds(1)) scene.interrupt = static_cast<int>(Interrupt::finish);
  };
  CHECK(ends_of(scene.run(residents(2))) == "interrupted | ");
  CHECK(scene.launcher.started.size() == 1);
}

TEST_CASE("of residents that hang and end side by side each is told by its own end", "[exec]") {
  const bool first_hangs = GENERATE(true, false);
  Plan plan = residents(2);
  for (PlannedCell& planned : plan.cells) {
    planned.cell.limits = {seconds(5), seconds(5), seconds(60), seconds(1)};
  }
  const FakeAttempt lasts = ends_after(finishes_ok(), 20'000);
  ExecutorScene scene(first_hangs ? std::vector{hangs(), lasts} : std::vector{lasts, hangs()});
  CHECK(ends_of(scene.run(plan)) == (first_hangs ? "hang | completed" : "completed | hang"));
}

TEST_CASE("residents are tried again together, and never after one of them failed", "[exec]") {
  struct Row {
    std::vector<FakeAttempt> scripts;
    const char* ends;
  };
  FakeAttempt dies_while_it_loads = exits_with(3);
  dies_while_it_loads.loads_for = milliseconds(60'000);
  const Row rows[] = {
      {{is_lost(), finishes_ok()}, "lost completed | completed completed"},
      {{finishes_ok(), is_lost()}, "completed completed | lost completed"},
      {{is_lost(), is_lost(), is_lost(), finishes_ok()}, "lost lost completed | lost completed completed"},
      {{is_lost(), exits_with(3)}, "lost | nonzero"},
      {{exits_with(3), is_lost()}, "nonzero | lost"},
      {{cannot_start(), finishes_ok()}, "launch completed | completed completed"},
      {{cannot_start(), cannot_start()}, "launch completed | launch completed"},
      {{dies_while_it_loads, finishes_ok()}, "nonzero | completed"},
      {{finishes_ok(), dies_while_it_loads}, "completed | nonzero"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.ends);
    ExecutorScene scene(row.scripts);
    const auto records = scene.run(residents(2));
    CHECK(ends_of(records) == row.ends);
    for (const CellRecord& cell : records) {
      for (std::size_t i = 0; i < cell.attempts.size(); ++i) CHECK(cell.attempts[i].attempt == static_cast<int>(i));
    }
  }
}

TEST_CASE("residents that cannot be ended are left, and the others go on", "[exec]") {
  FakeAttempt unkillable = hangs();
  unkillable.obeys_kill = false;
  ExecutorScene scene({unkillable, ends_after(finishes_ok(), 30'000)});
  Plan plan = residents(2);
  for (PlannedCell& planned : plan.cells) {
    planned.cell.limits = {seconds(5), seconds(5), seconds(100), seconds(1)};
  }
  const auto records = scene.run(plan);
  CHECK(ends_of(records) == "hang | completed");
  CHECK(records[0].attempts[0].detail == "no heartbeat for 5 s; still alive after 8 KILLs, left behind");
  CHECK(scene.launcher.signals[1].empty());
}

TEST_CASE("all members of a group need their memory at once", "[exec]") {
  const auto [available, at_once] = GENERATE(std::pair(120, 3), std::pair(119, 2), std::pair(79, 1));
  ExecutorScene scene({});
  scene.options.jobs = 4;
  scene.options.available_bytes = available;
  Plan plan = residents(2);
  Cell alone = sample_cell("zzz", "stack-z");
  alone.memory_bytes = 40;
  plan.cells.push_back({alone, std::nullopt, {}});
  for (std::size_t i = 0; i < 2; ++i) {
    plan.cells[i].cell.exclusive = false;
    plan.cells[i].cell.memory_bytes = 40;
  }
  CHECK(ends_of(scene.run(plan)) == "completed | completed | completed");
  CHECK(scene.launcher.most_at_once == at_once);
}

}  // namespace
}  // namespace reprobench

// What is tried again, and when a cell or the run is over.
#include "matrix/exec/executor_scene.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

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

}  // namespace
}  // namespace reprobench

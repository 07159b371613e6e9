#include "matrix/exec/scheduler.hpp"

#include "ci/catch.hpp"
#include "matrix/exec/sample_plan.hpp"

namespace reprobench {
namespace {

using std::chrono::nanoseconds;

bool anywhere(const TaskGroup&) { return true; }

// "0/0 1/0": the members by cell and repeat.
std::string text_of(const TaskGroup& group) {
  std::string text;
  for (const AttemptTask& task : group.members) {
    text += (text.empty() ? "" : " ") + std::to_string(task.cell_index) + "/" + std::to_string(task.repeat);
  }
  return text;
}

Plan compared_pair(std::int64_t turn_steps) {
  Plan plan = sample_plan({sample_cell("aaa", "stack-a"), sample_cell("bbb", "stack-b")});
  plan.cells[1].cell.reference_cell_id = "aaa";
  for (PlannedCell& planned : plan.cells) {
    planned.cell.repeat = 2;
    planned.cell.exclusive = true;
    planned.cell.request.turn_steps = turn_steps;
  }
  return plan;
}

TEST_CASE("timed cells that are compared run one after the other, repeat by repeat", "[exec]") {
  const auto groups = groups_of(compared_pair(0));
  REQUIRE(groups.size() == 4);
  CHECK(text_of(groups[0]) == "0/0");
  CHECK(text_of(groups[1]) == "1/0");
  CHECK(text_of(groups[2]) == "0/1");
  CHECK(groups[0].company == Company::alone);
}

TEST_CASE("residents that are compared are one group a repeat", "[exec]") {
  Plan plan = compared_pair(3);
  const auto groups = groups_of(plan);
  REQUIRE(groups.size() == 2);
  CHECK(text_of(groups[0]) == "0/0 1/0");
  CHECK(text_of(groups[1]) == "0/1 1/1");
  CHECK(groups[0].company == Company::own_group);
  plan.cells[1].cell.request.device = "sm_90";
  CHECK(groups_of(plan).size() == 4);  // they cannot share a place
}

TEST_CASE("a group that bears no company waits until nothing runs, and nothing overtakes it", "[exec]") {
  Plan plan = sample_plan({sample_cell("aaa", "a"), sample_cell("bbb", "b"), sample_cell("ccc", "c")});
  plan.cells[1].cell.exclusive = true;
  Scheduler scheduler(plan, 4);
  const auto first = scheduler.next(nanoseconds{0}, anywhere);
  REQUIRE(first);
  CHECK_FALSE(scheduler.next(nanoseconds{0}, anywhere));
  scheduler.ended(*first);
  const auto timed = scheduler.next(nanoseconds{0}, anywhere);
  REQUIRE(timed);
  CHECK(text_of(*timed) == "1/0");
  CHECK_FALSE(scheduler.next(nanoseconds{0}, anywhere));  // the small cell behind it waits
  scheduler.ended(*timed);
  CHECK(scheduler.next(nanoseconds{0}, anywhere));
}

TEST_CASE("what finds no place is overtaken, and comes first once there is one", "[exec]") {
  const Plan plan = sample_plan({sample_cell("aaa", "a"), sample_cell("bbb", "b")});
  Scheduler scheduler(plan, 4);
  const auto not_the_first = [](const TaskGroup& group) { return group.members[0].cell_index != 0; };
  CHECK(text_of(scheduler.next(nanoseconds{0}, not_the_first).value()) == "1/0");
  CHECK_FALSE(scheduler.next(nanoseconds{0}, not_the_first));
  CHECK(text_of(scheduler.next(nanoseconds{0}, anywhere).value()) == "0/0");
}

TEST_CASE("a retry waits until it is due, holds nobody up and then comes first", "[exec]") {
  const Plan plan = sample_plan({sample_cell("aaa", "a"), sample_cell("bbb", "b"), sample_cell("ccc", "c")});
  Scheduler scheduler(plan, 1);
  TaskGroup first = scheduler.next(nanoseconds{0}, anywhere).value();
  scheduler.ended(first);
  scheduler.retry(first, nanoseconds{50});
  TaskGroup second = scheduler.next(nanoseconds{10}, anywhere).value();
  CHECK(text_of(second) == "1/0");
  CHECK_FALSE(scheduler.next(nanoseconds{60}, anywhere));  // one job
  scheduler.ended(second);
  const TaskGroup again = scheduler.next(nanoseconds{60}, anywhere).value();
  CHECK(text_of(again) == "0/0");
  CHECK(again.members[0].attempt == 1);
}

}  // namespace
}  // namespace reprobench

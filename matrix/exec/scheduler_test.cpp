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

TEST_CASE("residents share a place only if all of them take turns there, with as many ranks", "[exec]") {
  const auto sizes_with = [](auto change) {
    Plan plan = compared_pair(3);
    change(plan.cells[1].cell);
    std::string sizes;
    for (const TaskGroup& group : groups_of(plan)) sizes += std::to_string(group.members.size());
    return sizes;
  };
  CHECK(sizes_with([](Cell&) {}) == "22");
  CHECK(sizes_with([](Cell& cell) { cell.request.turn_steps = 0; }) == "1111");
  CHECK(sizes_with([](Cell& cell) { cell.request.world_size = 2; }) == "1111");
  CHECK(sizes_with([](Cell& cell) { cell.repeat = 1; }) == "21");
  CHECK(sizes_with([](Cell& cell) { cell.reference_cell_id.reset(); }) == "1111");
}

TEST_CASE("residents are as many at once as memory has room for", "[exec]") {
  Plan plan = compared_pair(3);
  for (PlannedCell& planned : plan.cells) planned.cell.memory_bytes = 40;
  CHECK(groups_of(plan, 80).size() == 2);
  CHECK(groups_of(plan, 79).size() == 4);
  CHECK(groups_of(plan, 0).size() == 2);
  CHECK(groups_of(plan, 79).at(0).company == Company::alone);
  Scheduler scheduler(plan, 1, 79);
  CHECK(scheduler.next(nanoseconds{0}, anywhere)->members.size() == 1);
  Scheduler further(plan, 1, 79);
  for (int group = 0; group < 4; ++group) further.ended(*further.next(nanoseconds{0}, anywhere));
  further.add({{0, 2, 3}, {1, 2, 3}});
  CHECK(further.next(nanoseconds{0}, anywhere)->members.size() == 1);
}

TEST_CASE("a group with one timed cell is timed, one without is not", "[exec]") {
  Plan plan = compared_pair(3);
  plan.cells[0].cell.exclusive = false;
  CHECK(groups_of(plan).at(0).company == Company::own_group);
  plan.cells[1].cell.exclusive = false;
  CHECK(groups_of(plan).at(0).company == Company::shared);
}

TEST_CASE("a skipped cell is in no group, and a reference that is skipped leaves the others together", "[exec]") {
  Plan plan =
      sample_plan({sample_cell("aaa", "a"), sample_cell("bbb", "b"), sample_cell("ccc", "c"), sample_cell("ddd", "d")});
  for (const std::size_t index : {1, 3}) plan.cells[index].cell.reference_cell_id = "aaa";
  for (PlannedCell& planned : plan.cells) planned.cell.repeat = 2;
  plan.cells[0].skip = Skip{"device-class", "no such device"};
  std::string order;
  for (const TaskGroup& group : groups_of(plan)) order += text_of(group) + ",";
  CHECK(order == "1/0,3/0,1/1,3/1,2/0,2/1,");
}

TEST_CASE("with one job nothing runs beside anything, with three three do", "[exec]") {
  const Plan plan =
      sample_plan({sample_cell("aaa", "a"), sample_cell("bbb", "b"), sample_cell("ccc", "c"), sample_cell("ddd", "d")});
  const auto started_with = [&](int jobs) {
    Scheduler scheduler(plan, jobs);
    int started = 0;
    while (scheduler.next(nanoseconds{0}, anywhere)) ++started;
    return started;
  };
  CHECK(started_with(1) == 1);
  CHECK(started_with(3) == 3);
  CHECK(started_with(9) == 4);
}

TEST_CASE("a retry is due at its time, not before, and the earliest of those that wait is named", "[exec]") {
  const Plan plan = sample_plan({sample_cell("aaa", "a"), sample_cell("bbb", "b")});
  Scheduler scheduler(plan, 2);
  CHECK(scheduler.next_due() == nanoseconds{0});
  TaskGroup first = scheduler.next(nanoseconds{0}, anywhere).value();
  TaskGroup second = scheduler.next(nanoseconds{0}, anywhere).value();
  CHECK_FALSE(scheduler.next_due());
  CHECK_FALSE(scheduler.has_waiting());
  scheduler.ended(first);
  scheduler.ended(second);
  scheduler.retry(first, nanoseconds{50});
  scheduler.retry(second, nanoseconds{70});
  CHECK(scheduler.has_waiting());
  CHECK(scheduler.next_due() == nanoseconds{50});
  CHECK_FALSE(scheduler.next(nanoseconds{49}, anywhere));
  CHECK(text_of(scheduler.next(nanoseconds{50}, anywhere).value()) == "0/0");
  CHECK(scheduler.next_due() == nanoseconds{70});
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

#include "matrix/cli/text/remaining_time.hpp"

#include <fstream>

#include <sys/stat.h>

#include "ci/catch.hpp"
#include "matrix/cli/workplace_fixture.hpp"
#include "matrix/contract/exit_record.hpp"

namespace reprobench {
namespace {

using namespace std::chrono_literals;

// Two repeats of each cell.
Plan plan_of(const std::vector<std::string>& ids) {
  Plan plan;
  for (const std::string& id : ids) {
    PlannedCell& planned = plan.cells.emplace_back();
    planned.cell.request.cell_id = id;
    planned.cell.repeat = 2;
  }
  return plan;
}

TEST_CASE("what is left is counted by what it took before", "[remaining_time]") {
  const Plan plan = plan_of({"slow", "fast"});
  RemainingTime time(plan, {{"slow", 90s}, {"fast", 10s}});
  CHECK(time.after(0s) == 200s);
  time.attempt_ended("fast");
  CHECK(time.after(10s) == 190s);
  CHECK(time.after(20s) == 380s);  // half as fast as recorded
  time.attempt_ended("slow");
  time.attempt_ended("slow");
  time.attempt_ended("fast");
  time.attempt_ended("fast");  // again, after trouble
  CHECK(time.after(200s) == 0s);
}

TEST_CASE("what is added while the run goes on is left to be done, too", "[remaining_time]") {
  RemainingTime time(plan_of({"slow", "fast"}), {{"slow", 90s}, {"fast", 10s}});
  time.attempts_added("fast", 3);
  CHECK(time.after(0s) == 230s);
}

TEST_CASE("cells without a record count as the others do, and all alike where there is none", "[remaining_time]") {
  const Plan plan = plan_of({"known", "new"});
  CHECK(RemainingTime(plan, {{"known", 30s}}).after(0s) == 120s);
  RemainingTime unknown(plan, {});
  CHECK_FALSE(unknown.after(5s));
  unknown.attempt_ended("new");
  CHECK(unknown.after(5s) == 15s);
}

TEST_CASE("durations are those of the newest run that has any", "[remaining_time]") {
  const Workplace place;
  const auto folder_of = [&](const std::string& attempt) {
    const auto folder = place / ("store/runs/" + attempt + "/rank-0");
    std::filesystem::create_directories(folder);
    return folder;
  };
  const auto write = [&](const std::string& attempt, std::int64_t duration_ns) {
    ExitRecord record;
    record.nonce = "0123456789abcdef";
    record.exit_code = 0;
    record.duration_ns = duration_ns;
    std::ofstream(folder_of(attempt) / "exit.json") << to_json(record).dump();
  };
  write("r-1/cells/a/r0a0.x", 1000);
  write("r-1/cells/b/r0a0.x", 50);
  write("r-2/cells/a/r0a0.x", 300);
  write("r-2/cells/a/r1a0.x", 500);
  for (const char* run : {"r-1", "r-2"})
    std::ofstream(place / ("store/runs/" + std::string(run) + "/run.json")) << "{}";
  std::ofstream(folder_of("r-2/cells/b/r0a0.x") / "exit.json") << "broken";
  REQUIRE(mkfifo((folder_of("r-2/cells/b/r1a0.x") / "exit.json").c_str(), 0600) == 0);
  const auto durations = recorded_durations(place / "store", plan_of({"a", "b", "c"}));
  CHECK(durations == AttemptDurations{{"a", 400ns}, {"b", 50ns}});
  CHECK(recorded_durations(place / "none", plan_of({"a"})).empty());

  Plan turns = plan_of({"a", "b", "c"});  // `a` and `b` take turns
  turns.cells[1].cell.reference_cell_id = "a";
  for (const std::size_t index : {0, 1}) turns.cells[index].cell.request.turn_steps = 10;
  CHECK(recorded_durations(place / "store", turns) == AttemptDurations{{"a", 200ns}, {"b", 25ns}});
}

}  // namespace
}  // namespace reprobench

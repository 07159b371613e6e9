// What a worker is told.
#include "matrix/exec/executor_scene.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

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
  const TemporaryVariable secret("REPROBENCH_TEST_SECRET", "hunter2");
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

}  // namespace
}  // namespace reprobench

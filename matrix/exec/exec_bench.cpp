// The coordinator's own cost of an attempt, with a worker that ends at once: run both and subtract.
//
//   process_floor    the shepherd and the worker started, watched and reaped, and nothing else
//   whole_attempt    execute(): folder, request, journal, timers, and the judgement of all files
//   ranks_floor      the shepherd and worker of each of four ranks, as process_floor
//   whole_ranks      execute(): attempts of those four ranks
// `rss_growth_bytes` says how much this process grew per attempt over the benchmark.
#include <fstream>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include "matrix/exec/executor.hpp"
#include "matrix/exec/launch_request.hpp"
#include "matrix/exec/local_launcher.hpp"
#include "matrix/exec/sample_plan.hpp"

namespace reprobench {
namespace {

const std::filesystem::path kShepherd = std::filesystem::path(REPROBENCH_BINARY_DIR) / "reprobench-shepherd";
const std::string kFakeWorker = std::string(REPROBENCH_BINARY_DIR) + "/reprobench-fake-worker";

std::int64_t rss_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0;
  file >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

Plan bench_plan(int attempts, int ranks) {
  std::vector<Cell> cells;
  for (int i = 0; i < attempts; ++i) {
    cells.push_back(sample_cell("cell" + std::to_string(i), "stack-a"));
    cells.back().request.workload.steps = 1;
    cells.back().request.world_size = ranks;
  }
  return sample_plan(std::move(cells));
}

// The folders and requests are there before the clock starts.
std::vector<LaunchRequest> prepared_launches(const std::filesystem::path& store, const Plan& plan) {
  std::vector<LaunchRequest> launches;
  const WorkerCommand worker{{kFakeWorker}, {}, {}};
  for (const PlannedCell& planned : plan.cells) {
    CellRequest request = planned.cell.request;
    request.nonce = "0123456789abcdef";
    LaunchRequest launch = launch_request(request, store / request.cell_id, worker, {}, std::chrono::seconds(10));
    for (const RankLaunch& rank : launch.ranks) {
      std::filesystem::create_directories(rank.folder);
      std::ofstream(rank.folder / "request.json") << to_json(rank.request).dump();
    }
    launches.push_back(std::move(launch));
  }
  return launches;
}

void wait_for_end(Launcher& launcher, int ranks) {
  while (ranks > 0) {
    for (const LaunchEvent& event : launcher.wait(std::chrono::seconds(1))) {
      if (event.kind == LaunchEvent::Kind::ended) --ranks;
    }
  }
}

void floor_of(benchmark::State& state, int attempts, int ranks) {
  const Plan plan = bench_plan(attempts, ranks);
  for (auto _ : state) {
    state.PauseTiming();
    const TemporaryFolder store;
    const auto launches = prepared_launches(store.path, plan);
    LocalLauncher launcher(kShepherd);
    state.ResumeTiming();
    for (const LaunchRequest& launch : launches) {
      launcher.start(launch);
      wait_for_end(launcher, ranks);
    }
    state.PauseTiming();
    for (const RankLaunch& rank : launches.back().ranks) {
      if (!std::filesystem::exists(rank.folder / "exit.json")) state.SkipWithError("no exit record");
    }
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * attempts);
}

void whole_of(benchmark::State& state, int attempts, int ranks) {
  const std::map<std::string, WorkerCommand> workers = {{"stack-a", {{kFakeWorker}, {}, {}}}};
  const Plan plan = bench_plan(attempts, ranks);
  std::int64_t growth = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const TemporaryFolder store;
    RunDirectory run = sample_run(store.path, plan);
    LocalLauncher launcher(kShepherd);
    std::int64_t before = 0;
    int ended = 0;
    ExecutionObserver observer;
    // The first tenth warms allocator and page tables.
    observer.cell_ended = [&](const Cell&, const CellRecord&) {
      if (++ended == attempts / 10) before = rss_bytes();
    };
    state.ResumeTiming();
    const auto records = execute(plan, workers, launcher, MonotonicClock(), run, {}, observer);
    state.PauseTiming();
    growth += rss_bytes() - before;
    for (const CellRecord& cell : records) {
      if (cell.attempts.at(0).end != AttemptEnd::completed) state.SkipWithError("an attempt was not completed");
    }
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * attempts);
  state.counters["rss_growth_bytes"] =
      static_cast<double>(growth) / static_cast<double>(state.iterations() * (attempts - attempts / 10));
}

void process_floor(benchmark::State& state) { floor_of(state, 1'000, 1); }
void whole_attempt(benchmark::State& state) { whole_of(state, 1'000, 1); }
void ranks_floor(benchmark::State& state) { floor_of(state, 50, 4); }
void whole_ranks(benchmark::State& state) { whole_of(state, 50, 4); }

BENCHMARK(process_floor)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(whole_attempt)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(ranks_floor)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(whole_ranks)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace reprobench

// A plan of 100,000 cells, from the matrix file's text to plan.json: the goal is 2 s and 300 MB. Peak memory is the
// process's, so a run of this benchmark measures one plan:
//   plan_bench --benchmark_filter=plan_100000
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "matrix/plan/plan_fixture.hpp"
#include "matrix/plan/resolve.hpp"

namespace reprobench {
namespace {

// 5 stacks x 2 devices x 2 precisions x 2 thread counts x 2,500 seeds, with a threshold and a reference.
std::string matrix_of_100000() {
  std::string seeds;
  for (int seed = 1; seed <= 2'500; ++seed) seeds += (seed > 1 ? ", " : "") + std::to_string(seed);
  return "axes:\n"
         "  stack: [torch-2.9.0-cu128, torch-2.8.0-cu128, torch-2.1.0-cu121, torch-2.15.0-cu132, debian-torch-1.13.1]\n"
         "  device: [cpu, sm_90]\n  precision: [fp32, bf16]\n  threads: [1, 2]\n  seed: [" +
         seeds + "]\nreference: {stack: torch-2.8.0-cu128}\nrequired: [{device: cpu}]\n";
}

void plan_100000(benchmark::State& state) {
  const std::string root = REPROBENCH_SOURCE_ROOT;
  const std::string text = matrix_of_100000();
  const std::map<std::string, SuiteSpec> suites = {
      {"smoke", parse_test_suite("smoke",
                                 "thresholds:\n  throughput.step_time: {max_regression: 5%, vs: reference}\n"
                                 "  numerics.repeat_mismatches: {max: 0, where: {precision: fp32}}\n")}};
  const StackCatalog catalog{load_stacks(root + "/matrix/stacks"), {}};
  const CompatFacts facts = load_compat_facts(root + "/matrix/facts/compat-facts.json");
  std::size_t bytes = 0;
  std::size_t cells = 0;
  for (auto _ : state) {
    Plan plan;
    plan.host = cpu_host();
    plan.cells = plan_cells(parse_test_matrix(text), suites, catalog, facts, plan.host);
    cells = plan.cells.size();
    bytes = 0;
    write_plan(plan, [&](std::string_view part) { bytes += part.size(); });
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["cells"] = static_cast<double>(cells);
  state.counters["plan_json_MB"] = static_cast<double>(bytes) / 1e6;
  state.counters["peak_rss_MB"] = static_cast<double>(usage.ru_maxrss) / 1e3;
}
BENCHMARK(plan_100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace reprobench

#include <vector>

#include <benchmark/benchmark.h>

#include "kernels/sketch/sketch.hpp"

namespace reprobench {
namespace {

void sketch_floats(benchmark::State& state) {
  const std::vector<float> values(static_cast<std::size_t>(state.range(0)), 0.5f);
  for (auto _ : state) benchmark::DoNotOptimize(sketch(values));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 4);
}

BENCHMARK(sketch_floats)->Arg(320)->Arg(100'352);

}  // namespace
}  // namespace reprobench

#include <vector>

#include <benchmark/benchmark.h>

#include "kernels/diff/diff.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kElements = 4 << 20;

template <class T>
std::vector<T> ramp(double step) {
  std::vector<T> values(kElements);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(1.0 + static_cast<double>(i) * step);
  return values;
}

// `stride`: every how many elements one differs; 0 for none.
template <class T>
void diff_tensors(benchmark::State& state, ElementType type) {
  const std::vector<T> reference = ramp<T>(1e-7);
  std::vector<T> values = reference;
  const auto stride = static_cast<std::size_t>(state.range(0));
  for (std::size_t i = 0; stride != 0 && i < values.size(); i += stride)
    values[i] += static_cast<T>(1e-6 * static_cast<double>(i * 7919 % 101));
  for (auto _ : state) {
    benchmark::DoNotOptimize(diff(type, std::as_bytes(std::span(values)), std::as_bytes(std::span(reference))));
  }
  state.SetBytesProcessed(state.iterations() * 2 * kElements * static_cast<std::int64_t>(sizeof(T)));
}

void diff_fp32(benchmark::State& state) { diff_tensors<float>(state, ElementType::fp32); }
void diff_fp64(benchmark::State& state) { diff_tensors<double>(state, ElementType::fp64); }

void error_sums_fp32(benchmark::State& state) {
  const std::vector<float> values = ramp<float>(1e-7);
  const std::vector<double> exact = ramp<double>(1e-7);
  for (auto _ : state) {
    benchmark::DoNotOptimize(error_sums(ElementType::fp32, std::as_bytes(std::span(values)), ElementType::fp64,
                                        std::as_bytes(std::span(exact))));
  }
  state.SetBytesProcessed(state.iterations() * 12 * kElements);
}

BENCHMARK(diff_fp32)->Arg(0)->Arg(1000)->Arg(1);
BENCHMARK(diff_fp64)->Arg(0)->Arg(1000)->Arg(1);
BENCHMARK(error_sums_fp32);

}  // namespace
}  // namespace reprobench

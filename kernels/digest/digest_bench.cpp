// Times the digest of a tensor against three references on the same bytes: XXH3-128, a plain fp32 sum, and a plain read
// (a sum of 64-bit words).
#define XXH_INLINE_ALL
#include <cstdint>
#include <numeric>
#include <vector>

#include <benchmark/benchmark.h>
#include <xxhash.h>

#include "kernels/digest/digest.hpp"

namespace reprobench {
namespace {

std::vector<std::uint64_t> words(const benchmark::State& state) {
  std::vector<std::uint64_t> result(static_cast<std::size_t>(state.range(0)) / 8);
  std::iota(result.begin(), result.end(), 1);
  return result;
}

void count_bytes(benchmark::State& state) { state.SetBytesProcessed(state.iterations() * state.range(0)); }

void tensor_digest_bytes(benchmark::State& state) {
  const auto data = words(state);
  const std::int64_t shape[] = {static_cast<std::int64_t>(data.size())};
  for (auto _ : state) benchmark::DoNotOptimize(tensor_digest("int64", shape, std::as_bytes(std::span(data))));
  count_bytes(state);
}

void xxh3_128_bytes(benchmark::State& state) {
  const auto data = words(state);
  for (auto _ : state) benchmark::DoNotOptimize(XXH3_128bits(data.data(), data.size() * 8));
  count_bytes(state);
}

void read_only_sum(benchmark::State& state) {
  const auto data = words(state);
  for (auto _ : state) benchmark::DoNotOptimize(std::accumulate(data.begin(), data.end(), std::uint64_t{0}));
  count_bytes(state);
}

void fp32_sum(benchmark::State& state) {
  const std::vector<float> data(static_cast<std::size_t>(state.range(0)) / 4, 0.5F);
  for (auto _ : state) benchmark::DoNotOptimize(std::accumulate(data.begin(), data.end(), 0.0F));
  count_bytes(state);
}

// 1.3 KB: logits of a step; 1.2 MB: parameters and Adam state of the mlp; 64 MB: beyond the caches.
BENCHMARK(tensor_digest_bytes)->Arg(1280)->Arg(1'221'240)->Arg(64 << 20);
BENCHMARK(xxh3_128_bytes)->Arg(1280)->Arg(1'221'240)->Arg(64 << 20);
BENCHMARK(fp32_sum)->Arg(1280)->Arg(1'221'240)->Arg(64 << 20);
BENCHMARK(read_only_sum)->Arg(1280)->Arg(1'221'240)->Arg(64 << 20);

}  // namespace
}  // namespace reprobench

#include "suites/worker/probes/framework_random.hpp"

#include "kernels/philox/philox.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kThreadsPerBlock = 256;
constexpr std::int64_t kPerCounter = 4;  // numbers that one counter value gives

// (0, 1] as cuRAND makes it of 32 bits, with 1 turned into 0 as LibTorch does.
float curand_uniform(std::uint32_t bits) {
  const float value = static_cast<float>(bits) * 0x1p-32F + 0x1p-33F;
  return value == 1.0F ? 0.0F : value;
}

}  // namespace

std::int64_t random_grid_threads(int multiprocessors, int threads_per_multiprocessor) {
  return multiprocessors * (threads_per_multiprocessor / kThreadsPerBlock) * kThreadsPerBlock;
}

std::vector<float> predicted_uniform(std::uint64_t seed, std::int64_t grid_threads, std::int64_t count) {
  const PhiloxKey key{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t element = 0; element < count; ++element) {
    const auto thread = static_cast<std::uint64_t>(element % grid_threads);
    const std::int64_t turn = element / grid_threads;
    const auto counter = static_cast<std::uint64_t>(turn / kPerCounter);
    const PhiloxBlock block =
        philox4x32_10({{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
                        static_cast<std::uint32_t>(thread), static_cast<std::uint32_t>(thread >> 32)}},
                      key);
    values[static_cast<std::size_t>(element)] = curand_uniform(block.word[turn % kPerCounter]);
  }
  return values;
}

}  // namespace reprobench

#include "suites/worker/probes/stream_sizes.hpp"

#include <algorithm>

namespace reprobench {
namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

}  // namespace

std::vector<std::int64_t> gpu_stream_sizes(std::int64_t l2_bytes) {
  std::vector<std::int64_t> sizes = {256 * kMebibyte, 512 * kMebibyte, 1024 * kMebibyte};
  std::erase_if(sizes, [&](std::int64_t bytes) { return bytes < 4 * l2_bytes && bytes < sizes.back(); });
  return sizes;
}

std::vector<std::int64_t> cpu_stream_sizes() { return {1 * kMebibyte, 16 * kMebibyte, 128 * kMebibyte}; }

}  // namespace reprobench

#include "suites/worker/probes/stream_sizes.hpp"

#include <algorithm>

namespace reprobench {
namespace {

constexpr std::int64_t mebibytes(std::int64_t count) { return count << 20; }

}  // namespace

std::vector<std::int64_t> gpu_stream_sizes(std::int64_t l2_bytes) {
  std::vector<std::int64_t> sizes = {mebibytes(256), mebibytes(512), mebibytes(1024)};
  std::erase_if(sizes, [&](std::int64_t bytes) { return bytes < 4 * l2_bytes && bytes < sizes.back(); });
  return sizes;
}

std::vector<std::int64_t> cpu_stream_sizes(std::int64_t free_bytes) {
  std::vector<std::int64_t> sizes = {mebibytes(1), mebibytes(16), mebibytes(128)};
  std::erase_if(sizes, [&](std::int64_t bytes) { return bytes > free_bytes / 8 && bytes > sizes.front(); });
  return sizes;
}

}  // namespace reprobench

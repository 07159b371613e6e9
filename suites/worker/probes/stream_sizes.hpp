// Sizes of one array of the streams, in bytes.
#pragma once

#include <cstdint>
#include <vector>

namespace reprobench {

// The sizes on a GPU with an L2 cache of this size. An array that fits into the cache is measured at the cache's
// bandwidth, and the best of all sizes counts; so the smallest array is four times as large as the cache. The largest
// is 1 GiB, for caches up to 256 MiB.
std::vector<std::int64_t> gpu_stream_sizes(std::int64_t l2_bytes);

// Sizes from within a CPU's caches to well beyond them. Operands, results and references are up to seven arrays at
// once, so all sizes need 1 GiB of free memory. The smallest is always measured.
std::vector<std::int64_t> cpu_stream_sizes(std::int64_t free_bytes);

}  // namespace reprobench

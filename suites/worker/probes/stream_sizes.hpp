// Sizes of one array of the streams, in bytes.
#pragma once

#include <cstdint>
#include <vector>

namespace reprobench {

// On a GPU with an L2 cache of this size: an array that fits there is measured at the cache's bandwidth, and the best
// of all sizes counts, so the smallest is four times as large. The largest is 1 GiB, for caches up to 256 MiB.
std::vector<std::int64_t> gpu_stream_sizes(std::int64_t l2_bytes);

// From within a CPU's caches to well beyond them.
std::vector<std::int64_t> cpu_stream_sizes();

}  // namespace reprobench

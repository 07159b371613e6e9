// The memory streams by this project's own kernels (kernels/stream, reduce, digest), beside LibTorch's: a stack whose
// element-wise kernels are slow and a card whose memory is slow then look different.
#pragma once

#include <cstdint>
#include <string>

namespace reprobench {

class ProbeRun;

// Measures the streams, the sum in a fixed order and the digest over arrays of `bytes` each, labelled `library:
// reprobench`. Only on a GPU.
void measure_kernel_streams(ProbeRun& run, std::int64_t bytes, const std::string& size);

}  // namespace reprobench

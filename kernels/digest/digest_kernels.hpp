// The digest kernel, as the device code and its callers both see it.
#pragma once

#include "kernels/device/device_pointer.hpp"
#include "kernels/device/tensor_list.hpp"
#include "kernels/digest/word_mix.hpp"

namespace reprobench {

constexpr uint32_t kDigestKernelBlockBytes = 64 * 1024;

// The block digests of all spans, one after the other. A piece is a digest block, a length is in bytes.
struct DigestBlocks {
  static constexpr char kModule[] = "digest";
  static constexpr char kName[] = "digest_blocks";
  static constexpr uint32_t kThreads = 256;
  // spans, how many, blocks of all spans, digests
  using Signature = void(DevicePointer<const TensorSpan>, uint32_t, uint64_t, DevicePointer<DigestLanes>);
};

}  // namespace reprobench

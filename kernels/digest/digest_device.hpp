// Digests of tensors in device memory: one launch for a list, one copy back, no wait in between.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/device/device_kernels.hpp"
#include "kernels/device/device_memory.hpp"
#include "kernels/digest/digest.hpp"
#include "kernels/digest/digest_kernels.hpp"

namespace reprobench {

// A contiguous tensor's bytes, at any alignment.
struct DeviceBytes {
  DevicePointer<const unsigned char> data;
  std::uint64_t byte_count = 0;
};

struct DigestLayout {
  std::vector<TensorSpan> spans;
  std::uint64_t block_count = 0;
};

DigestLayout lay_out_digest(std::span<const DeviceBytes> tensors);

// Buffers for one list of tensors at a time, kept between calls. `kernels` outlives it.
class DeviceDigest {
 public:
  explicit DeviceDigest(DeviceKernels& kernels);
  ~DeviceDigest();
  DeviceDigest(const DeviceDigest&) = delete;
  DeviceDigest& operator=(const DeviceDigest&) = delete;

  // Enqueues the digests of all tensors and their copy to the host; returns at once. The tensors may change again when
  // the stream has reached this point. Throws std::logic_error if the results of the call before were not taken.
  void enqueue(std::span<const DeviceBytes> tensors, DeviceStream stream);

  // Waits for the work of `enqueue`, not for later work in its stream. Returns for each tensor, in order, the digests
  // of its blocks, which equal block_digest of the same bytes. They stay valid until the next `enqueue`.
  std::vector<std::span<const Digest>> take();

 private:
  void enqueue_blocks();

  DeviceKernels& kernels_;
  DigestLayout layout_;
  DeviceStream stream_ = nullptr;
  CuEvent arrived_ = nullptr;
  bool pending_ = false;
  DeviceBuffer<TensorSpan> spans_;
  PinnedBuffer<TensorSpan> spans_on_host_;
  DeviceBuffer<DigestLanes> digests_;
  PinnedBuffer<Digest> digests_on_host_;
};

}  // namespace reprobench

#include "kernels/digest/digest_device.hpp"

#include <algorithm>
#include <stdexcept>

namespace reprobench {

static_assert(kDigestKernelBlockBytes == kDigestBlockBytes);
static_assert(sizeof(Digest) == sizeof(DigestLanes), "the copy back reads lanes as digests");

DigestLayout lay_out_digest(std::span<const DeviceBytes> tensors) {
  DigestLayout layout;
  for (const DeviceBytes& tensor : tensors) {
    layout.spans.push_back({tensor.data, tensor.byte_count, layout.block_count});
    layout.block_count += (tensor.byte_count + kDigestBlockBytes - 1) / kDigestBlockBytes;
  }
  return layout;
}

DeviceDigest::DeviceDigest(DeviceKernels& kernels)
    : kernels_(kernels),
      spans_(kernels.context()),
      spans_on_host_(kernels.context()),
      digests_(kernels.context()),
      digests_on_host_(kernels.context()) {
  constexpr unsigned kWithoutTime = 2;  // CU_EVENT_DISABLE_TIMING
  kernels.context().bind();
  kernels.context().driver().check(kernels.context().driver().event_create(&arrived_, kWithoutTime), "cuEventCreate");
}

// A failure to destroy an event changes nothing for anybody.
DeviceDigest::~DeviceDigest() { static_cast<void>(kernels_.context().driver().event_destroy(arrived_)); }

void DeviceDigest::enqueue(std::span<const DeviceBytes> tensors, DeviceStream stream) {
  if (pending_) throw std::logic_error("DeviceDigest: the results of the call before were not taken");
  layout_ = lay_out_digest(tensors);
  stream_ = stream;
  if (layout_.block_count != 0) enqueue_blocks();
  pending_ = true;
}

void DeviceDigest::enqueue_blocks() {
  spans_.grow(layout_.spans.size());
  spans_on_host_.grow(layout_.spans.size());
  digests_.grow(layout_.block_count);
  digests_on_host_.grow(layout_.block_count);

  const auto staged = spans_on_host_.first(layout_.spans.size());
  std::copy(layout_.spans.begin(), layout_.spans.end(), staged.begin());
  spans_.copy_from(staged, stream_);
  kernels_.launch<DigestBlocks>(stream_, kernels_.blocks_for<DigestBlocks>(layout_.block_count), spans_.data(),
                                static_cast<std::uint32_t>(layout_.spans.size()), layout_.block_count, digests_.data());
  const auto results = digests_on_host_.first(layout_.block_count);
  digests_.copy_to({reinterpret_cast<DigestLanes*>(results.data()), results.size()}, stream_);
  kernels_.context().driver().check(kernels_.context().driver().event_record(arrived_, stream_), "cuEventRecord");
}

std::vector<std::span<const Digest>> DeviceDigest::take() {
  if (pending_ && layout_.block_count != 0) {
    kernels_.context().bind();
    kernels_.context().driver().check(kernels_.context().driver().event_synchronize(arrived_), "cuEventSynchronize");
  }
  pending_ = false;
  std::vector<std::span<const Digest>> of_tensors;
  const auto all = digests_on_host_.first(layout_.block_count);
  for (std::size_t i = 0; i < layout_.spans.size(); ++i) {
    const std::uint64_t begin = layout_.spans[i].first_piece;
    const std::uint64_t end = i + 1 < layout_.spans.size() ? layout_.spans[i + 1].first_piece : layout_.block_count;
    of_tensors.push_back(all.subspan(begin, end - begin));
  }
  return of_tensors;
}

}  // namespace reprobench

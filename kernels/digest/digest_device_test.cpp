#include "kernels/digest/digest_device.hpp"

#include "ci/catch.hpp"
#include "kernels/device/emulated_device.hpp"

namespace reprobench {
namespace {

std::vector<Digest> block_digests(std::span<const unsigned char> bytes) {
  std::vector<Digest> digests;
  const auto all = std::as_bytes(bytes);
  for (std::size_t at = 0; at < all.size(); at += kDigestBlockBytes) {
    digests.push_back(block_digest(all.subspan(at, std::min(kDigestBlockBytes, all.size() - at))));
  }
  return digests;
}

TEST_CASE("device digests equal the CPU's at every length, alignment and launch shape", "[digest][device]") {
  const auto bytes = random_bytes(3 * kDigestBlockBytes + 64);
  const std::size_t lengths[] = {0,
                                 1,
                                 7,
                                 8,
                                 9,
                                 15,
                                 16,
                                 17,
                                 4095,
                                 4096,
                                 4104,
                                 40'000,
                                 kDigestBlockBytes - 1,
                                 kDigestBlockBytes,
                                 kDigestBlockBytes + 1,
                                 2 * kDigestBlockBytes + 24};
  for (const std::string& shape : kLaunchShapes) {
    EmulatedDevice device(shape);
    DeviceDigest digest(device.kernels());
    // One allocation for each tensor, exactly as long: a sanitized build sees a read beyond either end.
    std::vector<std::unique_ptr<DeviceBuffer<unsigned char>>> memory;
    std::vector<DeviceBytes> tensors;
    std::vector<std::size_t> offsets;
    for (std::size_t i = 0; i < std::size(lengths); ++i) {
      for (const std::size_t offset : {std::size_t{0}, 1 + i % 15, std::size_t{8}}) {
        memory.push_back(std::make_unique<DeviceBuffer<unsigned char>>(device.context(), lengths[i] + offset));
        memory.back()->copy_from(std::span(bytes).first(lengths[i] + offset), nullptr);
        tensors.push_back({memory.back()->data() + offset, lengths[i]});
        offsets.push_back(offset);
      }
    }
    digest.enqueue(tensors, nullptr);
    const auto digests = digest.take();
    REQUIRE(digests.size() == tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      CAPTURE(shape, tensors[i].byte_count, offsets[i]);
      const auto expected = block_digests(std::span(bytes).subspan(offsets[i], tensors[i].byte_count));
      CHECK(std::vector<Digest>(digests[i].begin(), digests[i].end()) == expected);
    }
  }
}

TEST_CASE("a tensor digest from device blocks is the tensor digest of the bytes", "[digest][device]") {
  const auto bytes = random_bytes(2 * kDigestBlockBytes + 100);
  const std::int64_t shape[] = {static_cast<std::int64_t>(bytes.size())};
  EmulatedDevice device;
  DeviceBuffer<unsigned char> memory(device.context(), bytes.size());
  memory.copy_from(bytes, nullptr);
  DeviceDigest digest(device.kernels());
  const DeviceBytes tensors[] = {{memory.data(), bytes.size()}};
  digest.enqueue(tensors, nullptr);
  CHECK(tensor_digest("uint8", shape, digest.take()[0]) ==
        tensor_digest("uint8", shape, std::as_bytes(std::span(bytes))));
}

}  // namespace
}  // namespace reprobench

#include "kernels/philox/philox_device.hpp"

#include <cstring>

#include "ci/catch.hpp"
#include "kernels/device/emulated_device.hpp"
#include "kernels/philox/philox_fill.hpp"

namespace reprobench {
namespace {

constexpr PhiloxStream kSequence{0x0123'4567'89ab'cdef, 42, 7};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// What `fill` leaves in device memory, from an element that is aligned to 16 bytes or not.
template <class T, class Fill>
std::vector<T> filled(EmulatedDevice& device, std::size_t count, std::size_t offset, Fill fill) {
  DeviceBuffer<T> memory(device.context(), count + offset);
  fill(device.kernels(), memory.data() + offset);
  auto values = copied_to_host(memory, count + offset);
  values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(offset));
  return values;
}

TEST_CASE("random numbers drawn on a device have the CPU's bits for any launch shape", "[philox][device]") {
  for (const std::string& shape : kLaunchShapes) {
    EmulatedDevice device(shape);
    for (const std::size_t count : {1u, 4u, 1023u, 1024u, 20'001u}) {
      for (const std::size_t offset : {0u, 1u, 4u}) {
        CAPTURE(shape, count, offset);
        std::vector<std::uint32_t> bits(count);
        std::vector<float> bell(count);
        fill_bits(kSequence, bits);
        fill_bell(kSequence, 0.02f, 0.5f, bell);
        CHECK(filled<std::uint32_t>(device, count, offset, [&](auto& kernels, auto values) {
                fill_bits(kernels, kSequence, values, count, nullptr);
              }) == bits);
        CHECK(same_bits(filled<float>(device, count, offset,
                                      [&](auto& kernels, auto values) {
                                        fill_bell(kernels, kSequence, 0.02f, 0.5f, values, count, nullptr);
                                      }),
                        bell));
      }
    }
  }
}

TEST_CASE("random words are the published generator's blocks, four at a time", "[philox]") {
  std::vector<std::uint32_t> bits(9);
  fill_bits({0, 0, 0}, bits);
  CHECK(std::vector<std::uint32_t>(bits.begin(), bits.begin() + 4) ==
        std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});  // Random123's known answer
  CHECK(bits[8] == philox4x32_10({{2, 0, 0, 0}}, {{0, 0}}).word[0]);
}

TEST_CASE("seed, tensor and step each give another sequence", "[philox]") {
  const PhiloxStream streams[] = {{1, 2, 3}, {2, 2, 3}, {1, 3, 3}, {1, 2, 4}, {1ull << 32 | 1, 2, 3}};
  for (const PhiloxStream& a : streams) {
    for (const PhiloxStream& b : streams) {
      std::vector<std::uint32_t> of_a(64);
      std::vector<std::uint32_t> of_b(64);
      fill_bits(a, of_a);
      fill_bits(b, of_b);
      CHECK((of_a == of_b) == (&a == &b));
    }
  }
}

}  // namespace
}  // namespace reprobench

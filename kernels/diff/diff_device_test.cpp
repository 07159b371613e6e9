#include "kernels/diff/diff_device.hpp"

#include <algorithm>

#include "ci/catch.hpp"
#include "kernels/device/emulated_device.hpp"

namespace reprobench {
namespace {

constexpr ElementType kAllTypes[] = {
    ElementType::fp64,     ElementType::fp32, ElementType::bf16,  ElementType::fp16,  ElementType::fp8_e4m3fn,
    ElementType::fp8_e5m2, ElementType::raw8, ElementType::raw16, ElementType::raw32, ElementType::raw64};

bool same_pair(const std::optional<ElementPair>& x, const std::optional<ElementPair>& y) {
  if (x.has_value() != y.has_value()) return false;
  return !x || (x->index == y->index && x->bits_a == y->bits_a && x->bits_b == y->bits_b && x->ulp == y->ulp);
}

// Everything but the sums, whose order is another.
bool same_counts(const Difference& x, const Difference& y) {
  return x.count == y.count && x.differing == y.differing && x.first_block == y.first_block &&
         same_pair(x.first, y.first) && same_pair(x.largest, y.largest) && x.nan_mismatches == y.nan_mismatches &&
         x.nan_payloads == y.nan_payloads && x.inf_mismatches == y.inf_mismatches && x.zero_signs == y.zero_signs &&
         x.ulp_histogram == y.ulp_histogram && x.max_abs == y.max_abs;
}

struct Pair {
  std::vector<unsigned char> a;
  std::vector<unsigned char> b;
};

// Random bits, so that every kind of number occurs, with one bit flipped in one element of `every`; and a range where
// signs of zero differ.
Pair random_pair(std::size_t bytes, std::size_t element, std::size_t every) {
  Pair pair{random_bytes(bytes, 11), {}};
  if (bytes >= 64 * element) std::fill_n(pair.a.begin() + static_cast<std::ptrdiff_t>(32 * element), 8 * element, 0);
  pair.b = pair.a;
  const auto flips = random_bytes(bytes, 12);
  for (std::size_t at = 0; at + element <= bytes; at += every * element) {
    pair.b[at + flips[at] % element] ^= static_cast<unsigned char>(1u << flips[at] / 16 % 8);
  }
  if (bytes >= 64 * element) pair.b[33 * element - 1] ^= 0x80;
  return pair;
}

class OnDevice {
 public:
  OnDevice(EmulatedDevice& device, const Pair& pair, std::size_t offset)
      : device_(device),
        offset_(offset),
        a_(device.context(), pair.a.size() + offset + 1),
        b_(device.context(), pair.b.size() + offset + 1) {
    const CudaDriver& driver = device.context().driver();
    driver.copy_to_device(a_.data().address() + offset, pair.a.data(), pair.a.size(), nullptr);
    driver.copy_to_device(b_.data().address() + offset, pair.b.data(), pair.b.size(), nullptr);
  }

  Difference diff_of(ElementType type, std::size_t bytes) {
    return diff(device_.kernels(), type, a_.data() + offset_, b_.data() + offset_, bytes / element_bytes(type),
                nullptr);
  }

 private:
  EmulatedDevice& device_;
  std::size_t offset_;
  DeviceBuffer<unsigned char> a_;
  DeviceBuffer<unsigned char> b_;
};

TEST_CASE("the device's difference counts as the CPU's, for every type, length and launch shape", "[diff][device]") {
  for (const std::string& shape : kLaunchShapes) {
    EmulatedDevice device(shape);
    for (const ElementType type : kAllTypes) {
      const std::size_t element = element_bytes(type);
      for (const std::size_t count : {0u, 1u, 100u, 4099u, 20'000u}) {
        for (const std::size_t every : {3u, 100'000u}) {
          const std::size_t bytes = count * element;
          const Pair pair = random_pair(bytes, element, every);
          const Difference expected = diff(type, std::as_bytes(std::span(pair.a)), std::as_bytes(std::span(pair.b)));
          const Difference found = OnDevice(device, pair, count % 2 * element).diff_of(type, bytes);
          CAPTURE(shape, static_cast<int>(type), count, every, found.differing, expected.differing);
          CHECK(same_counts(found, expected));
          // Another order of the same terms: n rounding errors of 2^-53 each, all terms positive.
          const double tolerance = 1e-15 * static_cast<double>(count + 1);
          CHECK(found.difference_squares == Approx(expected.difference_squares).epsilon(tolerance));
          CHECK(found.reference_squares == Approx(expected.reference_squares).epsilon(tolerance));
        }
      }
    }
  }
}

TEST_CASE("the sums of a device's difference have the same bits for any launch shape", "[diff][device]") {
  const Pair pair = random_pair(200'000, 2, 5);
  std::vector<double> sums;
  for (const std::string& shape : kLaunchShapes) {
    EmulatedDevice device(shape);
    const Difference found = OnDevice(device, pair, 0).diff_of(ElementType::bf16, 200'000);
    sums.push_back(found.difference_squares);
    sums.push_back(found.reference_squares);
    CHECK(found.difference_squares == sums[0]);
    CHECK(found.reference_squares == sums[1]);
  }
  CHECK(sums[0] > 0);
}

TEST_CASE("equal tensors on the device differ nowhere, whatever they hold", "[diff][device]") {
  Pair pair{random_bytes(100'000), {}};
  pair.b = pair.a;
  EmulatedDevice device;
  OnDevice on_device(device, pair, 0);
  for (const ElementType type : kAllTypes) {
    const Difference found = on_device.diff_of(type, 100'000);
    CHECK(found.equal_bits());
    CHECK_FALSE(found.first);
    CHECK_FALSE(found.largest);
    CHECK(found.difference_squares == 0);
  }
}

}  // namespace
}  // namespace reprobench

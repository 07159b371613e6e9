#include "kernels/reduce/reduce.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "ci/catch.hpp"
#include "kernels/device/emulated_device.hpp"
#include "kernels/philox/philox.hpp"
#include "kernels/reduce/reduce_device.hpp"

namespace reprobench {
namespace {

// Of very different sizes, so that another order of additions gives other bits.
std::vector<float> spread_values(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const PhiloxBlock block = philox4x32_10({{static_cast<std::uint32_t>(i), 0, 0, 5}}, {{1, 2}});
    values[i] = static_cast<float>(std::ldexp(bell(block), static_cast<int>(block.word[0] % 16)));
  }
  return values;
}

// The definition, written for reading: lanes one at a time, then pairs.
float defined_sum(std::vector<float> values) {
  constexpr std::size_t kLanes = 1024;
  constexpr std::size_t kChunk = 16 * kLanes;
  do {
    std::vector<float> sums;
    for (std::size_t begin = 0; begin < std::max<std::size_t>(1, values.size()); begin += kChunk) {
      std::vector<float> lanes(kLanes);
      for (std::size_t i = begin; i < std::min(begin + kChunk, values.size()); ++i)
        lanes[(i - begin) % kLanes] += values[i];
      while (lanes.size() > 1) {
        std::vector<float> pairs;
        for (std::size_t j = 0; j < lanes.size(); j += 2) pairs.push_back(lanes[j] + lanes[j + 1]);
        lanes = pairs;
      }
      sums.push_back(lanes[0]);
    }
    values = sums;
  } while (values.size() > 1);
  return values[0];
}

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

const std::size_t kCounts[] = {0, 1, 3, 1023, 1024, 1025, 16383, 16384, 16385, 100'003};

TEST_CASE("the CPU's fixed-order sum equals its definition, bit for bit", "[reduce]") {
  for (const std::size_t count : kCounts) {
    CAPTURE(count);
    const auto values = spread_values(count);
    CHECK(bits(fixed_order_sum(values)) == bits(defined_sum(values)));
  }
}

TEST_CASE("the device's fixed-order sum has the CPU's bits for any launch shape and alignment", "[reduce][device]") {
  for (const std::string& shape : kLaunchShapes) {
    EmulatedDevice device(shape);
    DeviceSum sum(device.kernels());
    for (const std::size_t count : kCounts) {
      for (const std::size_t offset : {0, 1}) {
        CAPTURE(shape, count, offset);
        const auto values = spread_values(count + offset);
        DeviceBuffer<float> memory(device.context(), std::max<std::size_t>(1, values.size()));
        memory.copy_from(values, nullptr);
        const float expected = fixed_order_sum(std::span<const float>(values).subspan(offset));
        CHECK(bits(sum.sum(memory.data() + offset, count, nullptr)) == bits(expected));
      }
    }
  }
}

TEST_CASE("another order gives other bits: the order is what makes sums equal", "[reduce]") {
  const auto values = spread_values(100'003);
  const float serial = std::accumulate(values.begin(), values.end(), 0.0f);
  CHECK(bits(serial) != bits(fixed_order_sum(values)));
  CHECK(serial == Approx(fixed_order_sum(values)).epsilon(1e-3));
}

TEST_CASE("a sum that is NaN has one pattern of bits everywhere", "[reduce][device]") {
  const float infinity = std::numeric_limits<float>::infinity();
  EmulatedDevice device;
  for (const std::vector<float>& values :
       {std::vector<float>{1, infinity, -infinity}, std::vector<float>{std::bit_cast<float>(0xffc12345u), 2}}) {
    DeviceBuffer<float> memory(device.context(), values.size());
    memory.copy_from(values, nullptr);
    CHECK(bits(fixed_order_sum(values)) == 0x7fc00000u);
    CHECK(bits(DeviceSum(device.kernels()).sum(memory.data(), values.size(), nullptr)) == 0x7fc00000u);
  }
}

}  // namespace
}  // namespace reprobench

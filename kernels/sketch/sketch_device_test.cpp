#include "kernels/sketch/sketch_device.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "ci/catch.hpp"
#include "kernels/device/emulated_device.hpp"
#include "kernels/philox/philox.hpp"

namespace reprobench {
namespace {

// -0 equals +0 and NaN not itself, so bits are compared.
bool same_bits(const Sketch& a, const Sketch& b) {
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  for (std::size_t j = 0; j < kSketchSums; ++j) {
    if (bits(a.signed_sums[j]) != bits(b.signed_sums[j])) return false;
  }
  return a.count == b.count && a.nan_count == b.nan_count && a.inf_count == b.inf_count && bits(a.min) == bits(b.min) &&
         bits(a.max) == bits(b.max) && bits(a.sum) == bits(b.sum) && bits(a.l2) == bits(b.l2);
}

double spread_value(std::size_t i) {
  const PhiloxBlock block = philox4x32_10({{static_cast<std::uint32_t>(i), 0, 0, 9}}, {{4, 0}});
  if (i % 997 == 5) return std::numeric_limits<double>::quiet_NaN();
  if (i % 1009 == 7)
    return block.word[0] % 2 == 0 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  if (i % 13 == 3) return -0.0;
  return std::ldexp(bell(block), static_cast<int>(block.word[0] % 12));
}

template <class T>
T element(std::size_t i) {
  const double value = spread_value(i);
  if constexpr (std::is_same_v<T, Bfloat16>) {
    return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16)};
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return std::isfinite(value) ? static_cast<std::int64_t>(std::ldexp(value, 48)) : -1;  // more bits than fp64 holds
  } else {
    return static_cast<T>(value);
  }
}

// Tensors on the device beside the sketches that the CPU has of them.
class TensorList {
 public:
  explicit TensorList(EmulatedDevice& device) : device_(device) {}

  template <class T>
  void add(SketchType type, std::size_t count) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = element<T>(i + count);
    // One element is put before, so that addresses are aligned to elements and no more.
    memory_.push_back(std::make_unique<DeviceBuffer<unsigned char>>(device_.context(), (count + 1) * sizeof(T)));
    const DevicePointer<unsigned char> data = memory_.back()->data() + sizeof(T);
    if (count != 0) {
      device_.context().driver().copy_to_device(data.address(), values.data(), count * sizeof(T), nullptr);
    }
    tensors.push_back({type, data, count});
    expected.push_back(sketch(std::span<const T>(values)));
  }

  std::vector<SketchTensor> tensors;
  std::vector<Sketch> expected;

 private:
  EmulatedDevice& device_;
  std::vector<std::unique_ptr<DeviceBuffer<unsigned char>>> memory_;
};

TEST_CASE("device sketches have the CPU's bits for every type, length and launch shape", "[sketch][device]") {
  for (const std::string& shape : kLaunchShapes) {
    EmulatedDevice device(shape);
    TensorList list(device);
    for (const std::size_t count : {0u, 1u, 63u, 64u, 65u, 1023u, 1024u, 16'383u, 16'384u, 16'385u, 60'000u}) {
      list.add<float>(SketchType::fp32, count);
      list.add<std::int64_t>(SketchType::int64, count);
      list.add<Bfloat16>(SketchType::bf16, count);
      list.add<double>(SketchType::fp64, count);
    }
    DeviceSketch sketches(device.kernels());
    sketches.enqueue(list.tensors, nullptr);
    const std::vector<Sketch> found = sketches.take();
    REQUIRE(found.size() == list.tensors.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(shape, i, list.tensors[i].element_count, found[i].sum, list.expected[i].sum, found[i].min,
              list.expected[i].min);
      CHECK(same_bits(found[i], list.expected[i]));
    }
  }
}

TEST_CASE("a tensor of more segments than are folded at once has the CPU's bits", "[sketch][device]") {
  EmulatedDevice device("multiprocessors=2");
  TensorList list(device);
  list.add<Bfloat16>(SketchType::bf16, 11 * kSketchSegment + 77);
  DeviceSketch sketches(device.kernels());
  sketches.enqueue(list.tensors, nullptr);
  CHECK(same_bits(sketches.take()[0], list.expected[0]));
}

TEST_CASE("one changed element of a device tensor shows as its distance", "[sketch][device]") {
  std::vector<float> values(20'000, 1.0f);
  EmulatedDevice device;
  DeviceBuffer<float> memory(device.context(), values.size());
  DeviceSketch sketches(device.kernels());
  const SketchTensor tensor[] = {
      {SketchType::fp32, DevicePointer<const unsigned char>(memory.data().address()), values.size()}};
  std::vector<Sketch> found;
  for (const float value : {1.0f, 4.0f}) {
    values[17'000] = value;
    memory.copy_from(values, nullptr);
    sketches.enqueue(tensor, nullptr);
    found.push_back(sketches.take()[0]);
  }
  CHECK(estimated_distance(found[0], found[1]) == 3);
}

}  // namespace
}  // namespace reprobench

#include <set>

#include "ci/catch.hpp"
#include "kernels/device/emulated_device.hpp"
#include "kernels/stream/stream_device.hpp"

namespace reprobench {
namespace {

// The CPU twin: what the third array holds after `operation`.
std::vector<double> expected_result(StreamOperation operation, std::uint64_t elements) {
  std::vector<double> result(elements);
  for (std::uint64_t i = 0; i < elements; ++i) {
    const double a = stream_value(i, 1);
    const double b = stream_value(i, 0x5bd1'e995);
    if (operation == StreamOperation::copy) result[i] = a;
    if (operation == StreamOperation::scale) result[i] = 3 * a;
    if (operation == StreamOperation::add) result[i] = a + b;
    if (operation == StreamOperation::triad) result[i] = a + 3 * b;
  }
  return result;
}

TEST_CASE("every bandwidth operation gives the CPU's result for any launch shape", "[stream][device]") {
  for (const std::string& shape : kLaunchShapes) {
    EmulatedDevice device(shape);
    for (const std::uint64_t elements : {1u, 2u, 511u, 20'001u}) {
      StreamArrays arrays(device.kernels(), elements);
      for (const StreamOperation operation : kStreamOperations) {
        CAPTURE(shape, elements, word(operation));
        arrays.enqueue(operation, nullptr);
        CHECK(arrays.wrong_elements(operation, nullptr) == 0);
        if (operation == StreamOperation::init || operation == StreamOperation::read_sum) continue;
        std::vector<double> result(elements);
        device.context().driver().copy_to_host(result.data(), arrays.result().address(), elements * 8, nullptr);
        CHECK(result == expected_result(operation, elements));
      }
    }
  }
}

TEST_CASE("the check of a bandwidth operation counts each wrong element", "[stream][device]") {
  EmulatedDevice device;
  StreamArrays arrays(device.kernels(), 1001);
  arrays.enqueue(StreamOperation::triad, nullptr);
  for (const std::uint64_t index : {0u, 500u, 1000u}) {
    const double wrong = stream_value(index, 1) - 1;
    device.context().driver().copy_to_device((arrays.result() + index).address(), &wrong, sizeof wrong, nullptr);
  }
  CHECK(arrays.wrong_elements(StreamOperation::triad, nullptr) == 3);
  CHECK(arrays.wrong_elements(StreamOperation::copy, nullptr) > 900);
  arrays.enqueue(StreamOperation::read_sum, nullptr);
  arrays.enqueue(StreamOperation::copy, nullptr);
  CHECK(arrays.wrong_elements(StreamOperation::copy, nullptr) == 0);
}

TEST_CASE("a read-only sum of other words is wrong", "[stream][device]") {
  EmulatedDevice device;
  StreamArrays arrays(device.kernels(), 100);
  arrays.enqueue(StreamOperation::read_sum, nullptr);
  arrays.enqueue(StreamOperation::read_sum, nullptr);
  CHECK(arrays.wrong_elements(StreamOperation::read_sum, nullptr) == 0);
  const double wrong = stream_value(99, 1) + 1;
  device.context().driver().copy_to_device((arrays.source() + 99).address(), &wrong, sizeof wrong, nullptr);
  arrays.enqueue(StreamOperation::read_sum, nullptr);
  CHECK(arrays.wrong_elements(StreamOperation::read_sum, nullptr) == 1);
}

TEST_CASE("bytes are counted as STREAM does, and contents are not constant", "[stream][device]") {
  EmulatedDevice device;
  const StreamArrays arrays(device.kernels(), 1000);
  CHECK(arrays.moved_bytes(StreamOperation::init) == 8000);
  CHECK(arrays.moved_bytes(StreamOperation::read_sum) == 8000);
  CHECK(arrays.moved_bytes(StreamOperation::copy) == 16'000);
  CHECK(arrays.moved_bytes(StreamOperation::triad) == 24'000);
  std::set<double> values;
  for (std::uint64_t i = 0; i < 1000; ++i) values.insert(stream_value(i, 1));
  CHECK(values.size() > 990);
}

TEST_CASE("arrays that do not fit the device are refused", "[stream][device]") {
  if (!EmulatedDevice::is_emulated()) return;
  EmulatedDevice device("memory_mib=1");
  CHECK_THROWS_AS(StreamArrays(device.kernels(), 1 << 17), DeviceError);
}

}  // namespace
}  // namespace reprobench

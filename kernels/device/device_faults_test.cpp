#include <array>
#include <set>

#include "ci/catch.hpp"
#include "kernels/device/emulated_device.hpp"
#include "kernels/digest/digest_device.hpp"

namespace reprobench {
namespace {

template <class Action>
DeviceErrorCode code_of(Action action) {
  try {
    action();
  } catch (const DeviceError& error) {
    return error.code();
  }
  FAIL("nothing was thrown");
  return DeviceErrorCode::unknown;
}

// What opening the driver gives under `script`.
DeviceErrorCode code_at_start(const std::string& script) {
  EmulatedDevice::script(script);
  const DeviceErrorCode code = code_of([] { DeviceContext(open_cuda_driver(REPROBENCH_FAKE_CUDA_LIBRARY), 0); });
  EmulatedDevice::script("");
  return code;
}

void digest_something(EmulatedDevice& device) {
  DeviceBuffer<unsigned char> memory(device.context(), 1000);
  DeviceDigest digest(device.kernels());
  digest.enqueue(std::array{DeviceBytes{memory.data(), 1000}}, nullptr);
  digest.take();
}

TEST_CASE("every code has a word of its own", "[device]") {
  std::set<std::string_view> words;
  for (int code = 0; code <= static_cast<int>(DeviceErrorCode::unknown); ++code) {
    words.insert(word(static_cast<DeviceErrorCode>(code)));
  }
  CHECK(words.size() == static_cast<std::size_t>(DeviceErrorCode::unknown) + 1);
}

TEST_CASE("a machine without a usable driver or device is told apart by reason", "[device]") {
  CHECK(code_of([] { open_cuda_driver("libcuda-of-no-driver.so.1"); }) == DeviceErrorCode::no_driver);
  CHECK(code_of([] { open_cuda_driver(REPROBENCH_FAKE_NVRTC_LIBRARY); }) == DeviceErrorCode::no_driver);
  CHECK(code_at_start("devices=0") == DeviceErrorCode::no_device);
  CHECK(code_at_start("fail=cuInit:1:100") == DeviceErrorCode::no_device);
  CHECK(code_at_start("fail=cuInit:1:35") == DeviceErrorCode::driver_too_old);
  CHECK(code_at_start("fail=cuInit:1:803") == DeviceErrorCode::driver_too_old);
  CHECK(code_at_start("fail=cuInit:1:804") == DeviceErrorCode::driver_too_old);
  CHECK(code_at_start("fail=cuInit:1:34") == DeviceErrorCode::no_driver);
  CHECK(code_at_start("fail=cuDevicePrimaryCtxRetain:1:46") == DeviceErrorCode::not_permitted);
  CHECK(code_at_start("fail=cuDevicePrimaryCtxRetain:1:2") == DeviceErrorCode::out_of_memory);
}

TEST_CASE("a device index beyond the visible ones is no device", "[device]") {
  EmulatedDevice::script("devices=2");
  const CudaDriver driver = open_cuda_driver(REPROBENCH_FAKE_CUDA_LIBRARY);
  CHECK(DeviceContext(driver, 1).name() == "Emulated GPU");
  CHECK(code_of([&] { DeviceContext(driver, 2); }) == DeviceErrorCode::no_device);
  CHECK(code_of([&] { DeviceContext(driver, -1); }) == DeviceErrorCode::no_device);
  EmulatedDevice::script("");
}

TEST_CASE("a message names the call, the number and the driver's name for it", "[device]") {
  EmulatedDevice device("fail=cuMemAlloc_v2:1:2");
  CHECK_THROWS_WITH(DeviceBuffer<float>(device.context(), 4),
                    "out_of_memory: cuMemAlloc returned 2, CUDA_ERROR_OUT_OF_MEMORY (of the fake driver)");
}

TEST_CASE("device memory that does not fit is refused, and the device goes on", "[device]") {
  EmulatedDevice device("memory_mib=1");
  CHECK(code_of([&] { DeviceBuffer<unsigned char>(device.context(), 2 << 20); }) == DeviceErrorCode::out_of_memory);
  CHECK_FALSE(is_sticky(DeviceErrorCode::out_of_memory));
  CHECK_NOTHROW(digest_something(device));
}

TEST_CASE("memory is given back also where no context is current, as on another thread", "[device]") {
  EmulatedDevice device;
  const CudaDriver& driver = device.context().driver();
  const auto free_bytes = [&] {
    std::size_t free = 0;
    std::size_t total = 0;
    device.context().bind();
    driver.check(driver.memory_info(&free, &total), "cuMemGetInfo");
    return free;
  };
  const std::size_t before = free_bytes();
  {
    const DeviceBuffer<unsigned char> memory(device.context(), 4096);
    const PinnedBuffer<unsigned char> pinned(device.context(), 4096);
    CHECK(free_bytes() == before - 4096);
    driver.check(driver.context_set_current(nullptr), "cuCtxSetCurrent");
  }
  CHECK(free_bytes() == before);
}

TEST_CASE("a refused launch does not harm the next one", "[device]") {
  EmulatedDevice device("fail=cuLaunchKernel:1:701");
  CHECK(code_of([&] { digest_something(device); }) == DeviceErrorCode::launch_failed);
  CHECK_NOTHROW(digest_something(device));
}

TEST_CASE("after a fault inside a kernel nothing works any more, and the code says so", "[device]") {
  for (const auto& [result, code] :
       {std::pair(700, DeviceErrorCode::illegal_address), std::pair(716, DeviceErrorCode::illegal_address),
        std::pair(719, DeviceErrorCode::illegal_address), std::pair(214, DeviceErrorCode::device_lost)}) {
    CAPTURE(result);
    EmulatedDevice device;
    EmulatedDevice::script("fail=cuEventSynchronize:1:" + std::to_string(result));
    CHECK(code_of([&] { digest_something(device); }) == code);
    CHECK(is_sticky(code));
    CHECK(code_of([&] { digest_something(device); }) == code);
    CHECK(code_of([&] { device.context().synchronize(); }) == code);
  }
}

TEST_CASE("an architecture without code is told before a launch", "[device]") {
  CHECK(code_of([] {
          EmulatedDevice device("compute=130");
          digest_something(device);
        }) == DeviceErrorCode::no_kernel_image);
  for (const char* failure : {"cuModuleLoadData:1:209", "cuModuleLoadData:1:200", "cuModuleGetFunction:1:500"}) {
    CAPTURE(failure);
    EmulatedDevice device("fail=" + std::string(failure));
    CHECK(code_of([&] { digest_something(device); }) == DeviceErrorCode::no_kernel_image);
    CHECK_NOTHROW(digest_something(device));
  }
}

TEST_CASE("taking digests waits for their own event, never for the whole stream", "[device]") {
  EmulatedDevice device;
  EmulatedDevice::script("fail=cuStreamSynchronize:1:700");
  CHECK_NOTHROW(digest_something(device));
}

TEST_CASE("results have to be taken before the next list is enqueued", "[device]") {
  EmulatedDevice device;
  DeviceDigest digest(device.kernels());
  digest.enqueue({}, nullptr);
  CHECK_THROWS_AS(digest.enqueue({}, nullptr), std::logic_error);
  CHECK(digest.take().empty());
  CHECK_NOTHROW(digest.enqueue({}, nullptr));
}

}  // namespace
}  // namespace reprobench

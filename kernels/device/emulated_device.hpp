// For tests of device code: the emulated device, through the fake driver and the fake compiler. Where
// $REPROBENCH_TEST_CUDA and $REPROBENCH_TEST_NVRTC name a real driver and compiler, the same tests run on that GPU.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/device/device_kernels.hpp"
#include "kernels/device/device_memory.hpp"

namespace reprobench {

class EmulatedDevice {
 public:
  // `script` as in fake_cuda/fake_device.hpp. Nothing is cached unless a folder is given.
  explicit EmulatedDevice(const std::string& script = "", const std::string& cache_folder = "");
  ~EmulatedDevice();

  DeviceContext& context() { return *context_; }
  DeviceKernels& kernels() { return *kernels_; }

  // False on a real GPU, which follows no script: a test's expectations of clocks and sizes then do not hold.
  static bool is_emulated();

  // Changes the script while the device is in use.
  static void script(const std::string& words);
  static int compilations();  // of the fake compiler, in this process

 private:
  std::optional<DeviceContext> context_;
  std::optional<DeviceKernels> kernels_;
};

// Numbers of multiprocessors and of blocks on each, and orders of blocks and threads: bits may depend on none of them.
inline const std::vector<std::string> kLaunchShapes = {"multiprocessors=1 blocks=1",
                                                       "multiprocessors=3 blocks=1 order=backward",
                                                       "multiprocessors=8 blocks=2 order=shuffled"};

std::vector<unsigned char> random_bytes(std::size_t count, std::uint32_t seed = 3);

template <class T>
std::vector<T> copied_to_host(const DeviceBuffer<T>& buffer, std::size_t count) {
  std::vector<T> values(count);
  buffer.copy_to(values, nullptr);
  return values;
}

}  // namespace reprobench

#include "ci/catch.hpp"
#include "kernels/clock/clock_device.hpp"
#include "kernels/device/emulated_device.hpp"

namespace reprobench {
namespace {

TEST_CASE("a clock rate is the median of cycles over time, incomplete samples left out", "[clock]") {
  const ClockSample samples[] = {{1000, 2000, 50, 1550, 0, 1},  // 1.5 GHz
                                 {1000, 3000, 0, 2000, 1, 1},   // 1.0 GHz
                                 {1000, 2000, 0, 1700, 1, 1},   // 1.7 GHz
                                 {1000, 2000, 0, 9999, 2, 0},   // incomplete
                                 {1000, 1000, 0, 9999, 3, 1}};  // no time passed
  const DeviceClock clock = device_clock(samples);
  CHECK(clock.median_hz == 1.5e9);
  CHECK(clock.lowest_hz == 1.0e9);
  CHECK(clock.highest_hz == 1.7e9);
  CHECK(clock.multiprocessors == 2);
  CHECK(clock.samples == 3);
  CHECK(device_clock({}).median_hz == 0);
}

TEST_CASE("the sampler finds the emulated device's 1.5 GHz on each multiprocessor", "[clock][device]") {
  EmulatedDevice device("multiprocessors=4");
  ClockSampling sampling(device.kernels());
  sampling.enqueue(100'000, nullptr);
  const DeviceClock clock = sampling.read(nullptr);
  CHECK(clock.samples >= 4);
  CHECK(clock.lowest_hz > 0.1e9);
  CHECK(clock.highest_hz < 4e9);
  if (!EmulatedDevice::is_emulated()) return;
  CHECK(clock.samples == 4);
  CHECK(clock.multiprocessors == 4);
  // The two clocks of the emulation are read one after the other, and another process may run in between.
  CHECK(clock.median_hz == Approx(1.5e9).epsilon(0.05));
}

}  // namespace
}  // namespace reprobench

#include "kernels/clock/clock_device.hpp"

#include <algorithm>
#include <set>

namespace reprobench {

DeviceClock device_clock(std::span<const ClockSample> samples) {
  std::vector<double> rates_hz;
  std::set<std::uint32_t> multiprocessors;
  for (const ClockSample& sample : samples) {
    if (sample.complete == 0 || sample.end_ns <= sample.begin_ns) continue;
    rates_hz.push_back(static_cast<double>(sample.end_cycles - sample.begin_cycles) * 1e9 /
                       static_cast<double>(sample.end_ns - sample.begin_ns));
    multiprocessors.insert(sample.multiprocessor);
  }
  if (rates_hz.empty()) return {};
  std::sort(rates_hz.begin(), rates_hz.end());
  const std::size_t middle = rates_hz.size() / 2;
  const double median = rates_hz.size() % 2 != 0 ? rates_hz[middle] : (rates_hz[middle - 1] + rates_hz[middle]) / 2;
  return {median, rates_hz.front(), rates_hz.back(), static_cast<int>(multiprocessors.size()),
          static_cast<int>(rates_hz.size())};
}

ClockSampling::ClockSampling(DeviceKernels& kernels)
    : kernels_(kernels), samples_(kernels.context(), static_cast<std::size_t>(kernels.context().multiprocessors())) {}

void ClockSampling::enqueue(std::uint64_t duration_ns, DeviceStream stream) {
  kernels_.launch<ClockSampler>(stream, static_cast<std::uint32_t>(samples_.size()), duration_ns, samples_.data());
}

DeviceClock ClockSampling::read(DeviceStream stream) {
  std::vector<ClockSample> samples(samples_.size());
  samples_.copy_to(samples, stream);
  kernels_.context().synchronize(stream);
  return device_clock(samples);
}

}  // namespace reprobench

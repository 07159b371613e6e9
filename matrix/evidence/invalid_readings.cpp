#include "matrix/evidence/invalid_readings.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "matrix/contract/device/clock_event.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kFewestOffClock = 4;  // shorter excursions are the wandering of a boost clock

std::map<int, Readings> by_gpu(const Readings& readings) {
  std::map<int, Readings> split;
  for (const TelemetrySample* reading : readings) split[reading->gpu].push_back(reading);
  return split;
}

// A process that cannot be seen from here is somebody else's if our own can be seen, or if there is more than the one
// that must be ours.
bool has_stranger(const TelemetrySample& reading) {
  return !reading.foreign_pids.empty() || reading.hidden_pids.size() > (reading.own_pids.empty() ? 1u : 0u);
}

// Readings by which time was lost to temperature since the one before.
std::set<const TelemetrySample*> heated_readings(const Readings& of_gpu) {
  std::set<const TelemetrySample*> found;
  std::optional<std::int64_t> before_ns;
  for (const TelemetrySample* reading : of_gpu) {
    const auto lost_ns = (*reading)[Quantity::thermal_violation_ns];
    if (!lost_ns) continue;
    if (before_ns && *lost_ns > *before_ns) found.insert(reading);
    before_ns = lost_ns;
  }
  return found;
}

std::set<const TelemetrySample*> off_clock_readings(const Readings& of_gpu) {
  Readings clocked;
  std::vector<std::int64_t> clocks_mhz;
  for (const TelemetrySample* reading : of_gpu) {
    if (const auto clock_mhz = (*reading)[Quantity::sm_clock_mhz]) {
      clocked.push_back(reading);
      clocks_mhz.push_back(*clock_mhz);
    }
  }
  if (clocked.size() < kFewestForDrift) return {};
  std::sort(clocks_mhz.begin(), clocks_mhz.end());
  const auto usual_mhz = static_cast<double>(clocks_mhz[clocks_mhz.size() / 2]);
  const auto direction = [&](const TelemetrySample* reading) {
    const double distance = static_cast<double>(*(*reading)[Quantity::sm_clock_mhz]) - usual_mhz;
    return std::abs(distance) <= kLargestClockDrift_rel * usual_mhz ? 0 : distance < 0 ? -1 : 1;
  };
  std::set<const TelemetrySample*> found;
  for (auto begin = clocked.begin(); begin != clocked.end();) {
    const int way = direction(*begin);
    const auto end = std::find_if(begin, clocked.end(), [&](const auto* reading) { return direction(reading) != way; });
    if (way != 0 && static_cast<std::size_t>(end - begin) >= kFewestOffClock) found.insert(begin, end);
    begin = end;
  }
  return found;
}

void add_periods(std::vector<Period>& periods, const Readings& of_gpu, const std::set<const TelemetrySample*>& invalid,
                 std::int64_t period_ns) {
  for (std::size_t i = 0; i < of_gpu.size(); ++i) {
    if (invalid.count(of_gpu[i]) == 0) continue;
    const std::int64_t before_ns = of_gpu[i == 0 ? i : i - 1]->at_ns;
    const std::int64_t after_ns = of_gpu[i + 1 == of_gpu.size() ? i : i + 1]->at_ns;
    periods.push_back(
        {std::min(before_ns, of_gpu[i]->at_ns - period_ns), std::max(after_ns, of_gpu[i]->at_ns + period_ns)});
  }
}

void merge(std::vector<Period>& periods) {
  std::sort(periods.begin(), periods.end(), [](const Period& a, const Period& b) { return a.from_ns < b.from_ns; });
  std::vector<Period> merged;
  for (const Period& period : periods) {
    if (merged.empty() || period.from_ns > merged.back().to_ns) {
      merged.push_back(period);
    } else {
      merged.back().to_ns = std::max(merged.back().to_ns, period.to_ns);
    }
  }
  periods = std::move(merged);
}

}  // namespace

bool is_throttled(const TelemetrySample& reading) {
  return invalidating_events(static_cast<std::uint64_t>(reading[Quantity::clock_events].value_or(0))) != 0;
}

// A process of ours that ends between two questions looks hidden once, so a stranger must stay for two readings.
std::set<const TelemetrySample*> contended_readings(const Readings& readings) {
  std::set<const TelemetrySample*> found;
  std::map<int, const TelemetrySample*> before;  // by GPU
  for (const TelemetrySample* reading : readings) {
    const TelemetrySample*& previous = before[reading->gpu];
    if (!reading->foreign_pids.empty()) found.insert(reading);
    if (has_stranger(*reading) && previous != nullptr && has_stranger(*previous)) found.insert({reading, previous});
    previous = reading;
  }
  return found;
}

InvalidPeriods invalid_periods(const Readings& all, const Readings& training, std::int64_t period_ns) {
  InvalidPeriods periods;
  const std::set<const TelemetrySample*> contended = contended_readings(all);
  for (const auto& [gpu, of_gpu] : by_gpu(all)) {
    std::set<const TelemetrySample*> throttled = heated_readings(of_gpu);
    std::copy_if(of_gpu.begin(), of_gpu.end(), std::inserter(throttled, throttled.end()),
                 [](const TelemetrySample* reading) { return is_throttled(*reading); });
    add_periods(periods[kThrottled.code()], of_gpu, throttled, period_ns);
    add_periods(periods[kContended.code()], of_gpu, contended, period_ns);
  }
  for (const auto& [gpu, of_gpu] : by_gpu(training)) {
    add_periods(periods[kOffClock.code()], of_gpu, off_clock_readings(of_gpu), period_ns);
  }
  for (auto& [reason, of_reason] : periods) merge(of_reason);
  return periods;
}

}  // namespace reprobench

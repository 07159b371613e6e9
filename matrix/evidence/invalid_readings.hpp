// Which readings of an attempt's GPUs make a time that was measured meanwhile invalid, and for how long (reliability
// rule R11).
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "matrix/contract/device/telemetry.hpp"
#include "matrix/contract/reason.hpp"

namespace reprobench {

using Readings = std::vector<const TelemetrySample*>;

// Twice the 2 to 3 % by which boost clocks wander under a steady load; a step time moves about as much as its clock.
inline constexpr double kLargestClockDrift_rel = 0.05;
inline constexpr std::size_t kFewestForDrift = 8;

bool is_throttled(const TelemetrySample& reading);

// Whether the reading was taken while another process computed on the GPU.
std::set<const TelemetrySample*> contended_readings(const Readings& readings);

// A span of time on the telemetry's clock.
struct Period {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
};

// Reasons why a time is not valid, the worst first.
inline constexpr Reason kThrottled = "throttled";
inline constexpr Reason kContended = "contended";
inline constexpr Reason kOffClock = "clock";

// Invalid periods by the code of their reason; each list is ascending and without overlaps. A reading speaks for the
// time from the one before it to the one after it, and for at least a sampling period on either side. `throttled` and
// `contended` come from all readings. `clock` means that the SM clock stayed more than 5 % off its median for four
// readings; it comes from the training's readings alone, since a GPU without work clocks down.
using InvalidPeriods = std::map<std::string_view, std::vector<Period>>;
InvalidPeriods invalid_periods(const Readings& all, const Readings& training, std::int64_t period_ns);

}  // namespace reprobench

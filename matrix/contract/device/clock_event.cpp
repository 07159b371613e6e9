#include "matrix/contract/device/clock_event.hpp"

#include <cstdio>

namespace reprobench {
namespace {

using enum ClockEventEffect;

constexpr ClockEvent kClockEvents[] = {
    {0x001, "gpu_idle", informative},
    {0x002, "applications_clocks", informative},
    {kSwPowerCap, "sw_power_cap", compared},
    {0x008, "hw_slowdown", invalidates},
    {0x010, "sync_boost", informative},
    {0x020, "sw_thermal_slowdown", invalidates},
    {0x040, "hw_thermal_slowdown", invalidates},
    {0x080, "hw_power_brake", invalidates},
    {0x100, "display_clocks", informative},
};

}  // namespace

std::span<const ClockEvent> clock_events() { return kClockEvents; }

std::uint64_t invalidating_events(std::uint64_t bits) {
  std::uint64_t mask = 0;
  for (const ClockEvent& event : kClockEvents) {
    if (event.effect == invalidates) mask |= event.bit;
  }
  return bits & mask;
}

std::vector<std::string> clock_event_words(std::uint64_t bits) {
  std::vector<std::string> words;
  for (const ClockEvent& event : kClockEvents) {
    if ((bits & event.bit) == 0) continue;
    words.emplace_back(event.word);
    bits &= ~event.bit;
  }
  for (int shift = 0; shift < 64; ++shift) {
    const std::uint64_t bit = std::uint64_t{1} << shift;
    if ((bits & bit) == 0) continue;
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(bit));
    words.emplace_back(text);
  }
  return words;
}

}  // namespace reprobench

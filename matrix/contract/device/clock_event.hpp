// Why a GPU runs slower than it could: the bits of NVML's clocks event (throttle) reasons, and the effect of each on a
// measurement. A bit without a row is recorded as it is, never dropped.
//
// Source: NVIDIA's NVML reference, group "Clocks Event Reasons".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

enum class ClockEventEffect {
  invalidates,  // the card protected itself: a time measured then says nothing about the stack
  compared,     // normal under load; two measurements are comparable if it was equally frequent in both
  informative,
};

struct ClockEvent {
  std::uint64_t bit;
  std::string_view word;
  ClockEventEffect effect;
};

std::span<const ClockEvent> clock_events();

inline constexpr std::uint64_t kSwPowerCap = 0x04;

// The bits of `bits` that invalidate a measurement.
std::uint64_t invalidating_events(std::uint64_t bits);

// "hw_slowdown", "sw_power_cap"; an unknown bit as its number: "0x1000".
std::vector<std::string> clock_event_words(std::uint64_t bits);

}  // namespace reprobench

// The class of devices that a cell asks for: the CPU, or GPUs of one compute capability. Documents store its text.
#pragma once

#include <algorithm>
#include <charconv>
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "matrix/base/digits.hpp"

namespace reprobench {

class DeviceClass {
 public:
  // The CPU.
  constexpr DeviceClass() = default;
  constexpr DeviceClass(int major, int minor) : number_(major * 10 + minor) {}

  // "cpu", "sm_90", "sm_120"; nothing for any other text.
  static std::optional<DeviceClass> parse(std::string_view text) {
    if (text == "cpu") return DeviceClass();
    if (!text.starts_with("sm_") || text.size() < 5 || text.size() > 6) return std::nullopt;
    const auto number = number_in(text.substr(3));
    if (!number || *number < 10) return std::nullopt;
    return DeviceClass(*number / 10, *number % 10);
  }

  // "9.0" is sm_90. Nothing for any other text, such as when a driver does not report it.
  static std::optional<DeviceClass> of_capability(std::string_view capability) {
    const std::size_t dot = capability.find('.');
    if (dot == std::string_view::npos || capability.size() != dot + 2) return std::nullopt;
    const auto major = number_in(capability.substr(0, dot));
    const auto minor = number_in(capability.substr(dot + 1));
    if (!major || *major == 0 || !minor) return std::nullopt;
    return DeviceClass(*major, *minor);
  }

  constexpr bool is_gpu() const { return number_ > 0; }

  std::string text() const { return is_gpu() ? "sm_" + std::to_string(number_) : "cpu"; }

  // "9.0" for sm_90; empty for the CPU.
  std::string compute_capability() const {
    return is_gpu() ? std::to_string(number_ / 10) + "." + std::to_string(number_ % 10) : "";
  }

  // The CPU comes before every GPU, and an older GPU before a newer one.
  friend constexpr auto operator<=>(DeviceClass, DeviceClass) = default;

 private:
  static std::optional<int> number_in(std::string_view digits) {
    if (!is_all_digits(digits)) return std::nullopt;
    int number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc() ? std::optional(number) : std::nullopt;
  }

  int number_ = 0;  // 90 for sm_90
};

inline constexpr DeviceClass kCpu;

}  // namespace reprobench

#include "matrix/verdict/quantity_text.hpp"

#include <cmath>

#include <fmt/format.h>

namespace reprobench {

std::string humanised(double value, std::string_view unit) {
  if (unit == "ns") {
    if (std::abs(value) >= 1e9) return fmt::format("{:.3f} s", value / 1e9);
    if (std::abs(value) >= 1e6) return fmt::format("{:.3f} ms", value / 1e6);
    return fmt::format("{:.1f} us", value / 1e3);
  }
  if (unit == "bytes") return fmt::format("{:.1f} MiB", value / (1 << 20));
  if (unit == "count") return fmt::format("{:.0f}", value);
  if (unit == "rel") return fmt::format("{:.3g}", value);
  return fmt::format("{:.6g} {}", value, unit);
}

}  // namespace reprobench

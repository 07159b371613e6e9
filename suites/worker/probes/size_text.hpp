// Sizes as labels write them.
#pragma once

#include <cstdint>
#include <string>

namespace reprobench {

// "8B", "4KiB", "64MiB", "1GiB"; a size that is no whole number of its unit is cut to one.
inline std::string size_text(std::int64_t bytes) {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  if (bytes >= kGiB && bytes % kGiB == 0) return std::to_string(bytes >> 30) + "GiB";
  if (bytes >= 1 << 20) return std::to_string(bytes >> 20) + "MiB";
  if (bytes >= 1 << 10) return std::to_string(bytes >> 10) + "KiB";
  return std::to_string(bytes) + "B";
}

}  // namespace reprobench

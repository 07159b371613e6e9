#include "matrix/lint/option_text.hpp"

#include <cmath>

#include "matrix/spec/scalar.hpp"

namespace reprobench {

std::optional<std::int64_t> parameter_count(const std::string& text) {
  constexpr double kMost = 1e15;
  constexpr std::string_view kLetters = "KMBT";
  const auto quantity = parse_quantity(text);
  if (!quantity) return std::nullopt;
  double value = quantity->value;
  if (!quantity->unit.empty()) {
    const std::size_t letter = quantity->unit.size() == 1 ? kLetters.find(quantity->unit) : std::string_view::npos;
    if (letter == std::string_view::npos) return std::nullopt;
    for (std::size_t i = 0; i <= letter; ++i) value *= 1000;
  }
  return value >= 1 && value <= kMost ? std::optional(static_cast<std::int64_t>(std::llround(value))) : std::nullopt;
}

std::optional<std::int64_t> memory_size(const std::string& text) {
  constexpr double kMost = 1e18;
  const auto quantity = parse_quantity(text);
  const auto unit = quantity ? size_unit_bytes(quantity->unit) : std::nullopt;
  const double bytes = unit ? quantity->value * *unit : 0;
  return bytes >= 1 && bytes <= kMost ? std::optional(static_cast<std::int64_t>(std::llround(bytes))) : std::nullopt;
}

}  // namespace reprobench

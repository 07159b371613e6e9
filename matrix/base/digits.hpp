// Decimal digits of ASCII. `std::isdigit` asks the locale and is undefined for a negative char.
#pragma once

#include <algorithm>
#include <string_view>

namespace reprobench {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// At least one, and nothing else.
constexpr bool is_all_digits(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); }

}  // namespace reprobench

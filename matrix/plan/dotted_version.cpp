#include "matrix/plan/dotted_version.hpp"

#include <algorithm>
#include <charconv>

namespace reprobench {

std::vector<int> version_numbers(std::string_view text) {
  std::vector<int> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || number < 0) break;
    numbers.push_back(number);
    if (next == end || *next != '.') break;
    at = next + 1;
  }
  return numbers;
}

bool version_less(std::string_view a, std::string_view b) {
  std::vector<int> left = version_numbers(a);
  std::vector<int> right = version_numbers(b);
  const std::size_t parts = std::max(left.size(), right.size());
  left.resize(parts);
  right.resize(parts);
  return left < right;
}

bool version_names(std::string_view shorter, std::string_view longer) {
  const std::vector<int> stated = version_numbers(shorter);
  const std::vector<int> full = version_numbers(longer);
  return stated.size() <= full.size() && std::equal(stated.begin(), stated.end(), full.begin());
}

}  // namespace reprobench

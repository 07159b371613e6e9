#include "matrix/plan/version_range.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "matrix/base/contract_error.hpp"

namespace reprobench {
namespace {

// Missing parts count as 0.
bool is_less(std::vector<int> left, std::vector<int> right) {
  const std::size_t parts = std::max(left.size(), right.size());
  left.resize(parts);
  right.resize(parts);
  return left < right;
}

// The first version after all that this one names: 9.11 for 9.10.
std::vector<int> after(std::vector<int> version) {
  ++version.back();
  return version;
}

}  // namespace

std::optional<std::vector<int>> whole_version(std::string_view text) {
  text = text.substr(0, text.find('+'));
  constexpr std::size_t kMostParts = 6;
  constexpr std::size_t kMostDigits = 8;
  std::vector<int> numbers;
  while (true) {
    const std::string_view digits = text.substr(0, text.find('.'));
    int number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool is_number = error == std::errc{} && end == digits.data() + digits.size() && number >= 0;
    if (!is_number || digits.size() > kMostDigits || numbers.size() == kMostParts) return std::nullopt;
    numbers.push_back(number);
    if (digits.size() == text.size()) return numbers;
    text.remove_prefix(digits.size() + 1);
  }
}

VersionRange VersionRange::parse(const std::string& text) {
  VersionRange range;
  range.text_ = text;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::string sign = word.substr(0, word.find_first_not_of("<>="));
    const auto version = whole_version(std::string_view(word).substr(sign.size()));
    const bool is_known = sign.empty() || sign == ">=" || sign == ">" || sign == "<" || sign == "<=";
    if (!version || !is_known) throw ContractError("`" + word + "` in `" + text + "` is no bound of a version");
    if (sign.empty() || sign == ">=" || sign == ">") {
      const std::vector<int> least = sign == ">" ? after(*version) : *version;
      if (range.at_least_.empty() || is_less(range.at_least_, least)) range.at_least_ = least;
    }
    if (sign.empty() || sign == "<" || sign == "<=") {
      const std::vector<int> below = sign == "<" ? *version : after(*version);
      if (range.below_.empty() || is_less(below, range.below_)) range.below_ = below;
    }
  }
  if (range.at_least_.empty() && range.below_.empty()) throw ContractError("`" + text + "` bounds no version");
  if (!range.at_least_.empty() && !range.below_.empty() && !is_less(range.at_least_, range.below_)) {
    throw ContractError("no version is within `" + text + "`");
  }
  return range;
}

Within VersionRange::match(std::string_view version) const {
  const auto first = whole_version(version);
  if (!first) return Within::maybe;
  const std::vector<int> end = after(*first);
  const bool starts_within = at_least_.empty() || !is_less(*first, at_least_);
  const bool ends_within = below_.empty() || !is_less(below_, end);
  if (starts_within && ends_within) return Within::yes;
  const bool is_before = !at_least_.empty() && !is_less(at_least_, end);
  const bool is_behind = !below_.empty() && !is_less(*first, below_);
  return is_before || is_behind ? Within::no : Within::maybe;
}

}  // namespace reprobench

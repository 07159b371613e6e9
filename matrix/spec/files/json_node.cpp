#include "matrix/spec/files/json_node.hpp"

#include <algorithm>
#include <charconv>

namespace reprobench {

const JsonMember* JsonNode::find(std::string_view key) const {
  const auto found = std::find_if(members.rbegin(), members.rend(), [&](const JsonMember& m) { return m.key == key; });
  return found == members.rend() ? nullptr : &*found;
}

std::string shown(const JsonNode& node) {
  constexpr std::size_t kLongestShown = 48;
  std::string text = node.text;
  if (text.size() > kLongestShown) {
    std::size_t end = kLongestShown;
    while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // no character of UTF-8 is cut
    text = text.substr(0, end) + "...";
  }
  switch (node.kind) {
    case JsonNode::Kind::null:
      return "null";
    case JsonNode::Kind::list:
      return "a list";
    case JsonNode::Kind::object:
      return "an object";
    case JsonNode::Kind::text:
      return "\"" + text + "\"";
    case JsonNode::Kind::flag:
    case JsonNode::Kind::number:
      break;
  }
  return text;
}

std::optional<std::int64_t> exact_integer(std::string_view number) {
  const bool negative = number.starts_with('-');
  if (negative) number.remove_prefix(1);
  const std::size_t exponent_at = number.find_first_of("eE");
  std::string_view mantissa = number.substr(0, exponent_at);
  std::int64_t exponent = 0;
  if (exponent_at != std::string_view::npos) {
    std::string_view digits = number.substr(exponent_at + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    int written = 0;  // no file is long enough for the digits that would make up for more
    if (std::from_chars(digits.data(), digits.data() + digits.size(), written).ec != std::errc()) return std::nullopt;
    exponent = written;
  }
  const std::size_t point = mantissa.find('.');
  std::string digits(mantissa.substr(0, point));
  if (point != std::string_view::npos) {
    const std::string_view fraction = mantissa.substr(point + 1);
    digits += fraction;
    exponent -= static_cast<std::int64_t>(fraction.size());
  }
  for (; exponent < 0 && digits.size() > 1 && digits.back() == '0'; ++exponent) digits.pop_back();
  if (digits.find_first_not_of('0') == std::string::npos) return 0;
  constexpr int kMostDigits = 19;
  if (exponent < 0 || exponent > kMostDigits) return std::nullopt;
  digits.append(static_cast<std::size_t>(exponent), '0');
  std::int64_t value = 0;
  const std::string signed_digits = (negative ? "-" : "") + digits;
  const char* end = signed_digits.data() + signed_digits.size();
  const auto read = std::from_chars(signed_digits.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

}  // namespace reprobench

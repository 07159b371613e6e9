#include "matrix/base/number.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace reprobench {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

std::string hex_digits(std::uint64_t value, int digits) {
  std::string text(static_cast<std::size_t>(digits), '0');
  for (int i = digits - 1; i >= 0; --i, value >>= 4) {
    text[static_cast<std::size_t>(i)] = kDigits[value & 15];
  }
  return text;
}

template <class Bits, class Float>
Float float_from_bits(Bits bits) {
  static_assert(sizeof(Bits) == sizeof(Float));
  Float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class Bits, class Float>
Bits bits_of(Float value) {
  static_assert(sizeof(Bits) == sizeof(Float));
  Bits bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace

std::string hex_of_bytes(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

nlohmann::json json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::optional<double> number_from_json(const nlohmann::json& number) {
  if (number.is_number()) return number.get<double>();
  if (!number.is_string()) return std::nullopt;
  const auto& word = number.get_ref<const std::string&>();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::string hex32(std::uint32_t value) { return hex_digits(value, 8); }
std::string hex64(std::uint64_t value) { return hex_digits(value, 16); }

std::optional<std::uint64_t> parse_hex(std::string_view digits) {
  if (digits.empty() || digits.size() > 16) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : digits) {
    std::uint64_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = 10 + static_cast<std::uint64_t>(c - 'a');
    } else {
      return std::nullopt;
    }
    value = value << 4 | digit;
  }
  return value;
}

nlohmann::json exact_float(float value) {
  return {{"value", json_number(value)}, {"bits", hex32(bits_of<std::uint32_t>(value))}};
}

nlohmann::json exact_float(double value) {
  return {{"value", json_number(value)}, {"bits", hex64(bits_of<std::uint64_t>(value))}};
}

std::optional<double> exact_float_from_json(const nlohmann::json& number) {
  if (!number.is_object() || !number.contains("value") || !number.contains("bits")) return std::nullopt;
  const auto value = number_from_json(number.at("value"));
  if (!value || !number.at("bits").is_string()) return std::nullopt;
  const auto& digits = number.at("bits").get_ref<const std::string&>();
  const auto bits = parse_hex(digits);
  if (!bits) return std::nullopt;
  double exact = 0;
  if (digits.size() == 8) {
    exact = static_cast<double>(float_from_bits<std::uint32_t, float>(static_cast<std::uint32_t>(*bits)));
  } else if (digits.size() == 16) {
    exact = float_from_bits<std::uint64_t, double>(*bits);
  } else {
    return std::nullopt;
  }
  const bool agree = std::isnan(exact) ? std::isnan(*value) : exact == *value;
  return agree ? std::optional(exact) : std::nullopt;
}

}  // namespace reprobench

#include "matrix/base/json_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

#include "matrix/base/number.hpp"

namespace reprobench {
namespace {

// Of a character: whether it stands for itself in JSON.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x7F; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

bool is_plain(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) { return kPlain[static_cast<unsigned char>(c)]; });
}

}  // namespace

void JsonText::separate() {
  if (needs_comma_) text_ += ',';
  needs_comma_ = true;
}

JsonText& JsonText::open(char bracket) {
  separate();
  text_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonText& JsonText::close(char bracket) {
  text_ += bracket;
  needs_comma_ = true;
  return *this;
}

JsonText& JsonText::key(std::string_view name) {
  string(name);
  text_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonText& JsonText::string(std::string_view value) {
  if (!is_plain(value))
    return raw(nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  // Most of a document is texts: each is put in its place at once.
  const std::size_t begin = text_.size() + (needs_comma_ ? 1 : 0);
  text_.resize(begin + value.size() + 2, '"');
  if (needs_comma_) text_[begin - 1] = ',';
  value.copy(text_.data() + begin + 1, value.size());
  needs_comma_ = true;
  return *this;
}

JsonText& JsonText::integer(std::int64_t value) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  return raw(std::string_view(digits, static_cast<std::size_t>(end - digits)));
}

JsonText& JsonText::number(double value) {
  // Most numbers of a mask's sketch are whole: those need no search for the shortest digits.
  constexpr double kMostPlain = 1e15;  // from here on with an exponent
  const bool is_whole =
      std::abs(value) < kMostPlain && value == std::trunc(value) && !(value == 0 && std::signbit(value));
  if (!is_whole) return raw(json_number(value).dump());
  integer(static_cast<std::int64_t>(value));
  text_ += ".0";
  return *this;
}

JsonText& JsonText::flag(bool value) { return raw(value ? "true" : "false"); }

JsonText& JsonText::null() { return raw("null"); }

JsonText& JsonText::raw(std::string_view json) {
  separate();
  text_ += json;
  return *this;
}

void JsonText::clear() {
  text_.clear();
  needs_comma_ = false;
}

}  // namespace reprobench

#include "matrix/base/plain_text.hpp"

#include <algorithm>
#include <cstdint>

namespace reprobench {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: no UTF-8
};

// The first character. Overlong forms, surrogates and values beyond U+10FFFF are no characters.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = byte(0) & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, bytes};
}

bool is_in(std::uint32_t code, std::uint32_t first, std::uint32_t last) { return code >= first && code <= last; }

bool may_be_shown(std::uint32_t code) {
  if (code == '\n' || code == '\t') return true;
  const bool is_control = code < 0x20 || is_in(code, 0x7f, 0x9f);
  const bool is_direction =
      code == 0x61c || is_in(code, 0x200e, 0x200f) || is_in(code, 0x202a, 0x202e) || is_in(code, 0x2066, 0x2069);
  const bool is_separator = is_in(code, 0x2028, 0x2029);
  const bool is_no_character = (code & 0xfffe) == 0xfffe || is_in(code, 0xfdd0, 0xfdef);
  return !is_control && !is_direction && !is_separator && !is_no_character;
}

}  // namespace

std::string plain_text(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    if (character.bytes > 0 && may_be_shown(character.code)) {
      plain += text.substr(0, bytes);
    } else {
      plain += '?';
    }
    text.remove_prefix(bytes);
  }
  return plain;
}

std::string plain_line(std::string_view text) {
  std::string line = plain_text(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

}  // namespace reprobench

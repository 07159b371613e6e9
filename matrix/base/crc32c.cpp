#include "matrix/base/crc32c.hpp"

#include <array>

namespace reprobench {
namespace {

// Slicing-by-8: eight tables, so one step of the loop eats eight bytes. Trace lines are checked by
// the megabyte.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  constexpr std::uint32_t kReflectedPolynomial = 0x82f63b78u;
  Tables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kReflectedPolynomial : 0);
    tables[0][i] = crc;
  }
  for (std::size_t t = 1; t < 8; ++t) {
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint32_t previous = tables[t - 1][i];
      tables[t][i] = previous >> 8 ^ tables[0][previous & 255];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

std::uint32_t load32(const unsigned char* bytes) {
  return static_cast<std::uint32_t>(bytes[0]) | static_cast<std::uint32_t>(bytes[1]) << 8 |
         static_cast<std::uint32_t>(bytes[2]) << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
}

}  // namespace

std::uint32_t crc32c(std::string_view text) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t left = text.size();
  std::uint32_t crc = ~0u;
  for (; left >= 8; left -= 8, bytes += 8) {
    const std::uint32_t low = load32(bytes) ^ crc;
    const std::uint32_t high = load32(bytes + 4);
    crc = kTables[7][low & 255] ^ kTables[6][low >> 8 & 255] ^ kTables[5][low >> 16 & 255] ^ kTables[4][low >> 24] ^
          kTables[3][high & 255] ^ kTables[2][high >> 8 & 255] ^ kTables[1][high >> 16 & 255] ^ kTables[0][high >> 24];
  }
  for (; left > 0; --left, ++bytes) crc = crc >> 8 ^ kTables[0][(crc ^ *bytes) & 255];
  return ~crc;
}

}  // namespace reprobench

// SHA-256 (FIPS 180-4) without a library, for workers. They read files that the coordinator named by sha256.hpp, and do
// not link OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reprobench {

// The SHA-256 of bytes that come one piece after the other.
class PlainSha256 {
 public:
  void update(std::string_view bytes);

  // 64 lower-case hex digits. Ends the computation; call once.
  std::string finish();

 private:
  static constexpr std::size_t kBlockBytes = 64;

  // The first 32 bits of the fractional parts of the square roots of the first 8 primes.
  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, kBlockBytes> begun_{};  // a block that is not full yet
  std::uint64_t bytes_ = 0;                         // number of bytes so far
};

// 64 lower-case hex digits, equal to those of sha256_of_text().
std::string plain_sha256_of_text(std::string_view text);

}  // namespace reprobench

// SHA-256 in 64 lower-case hex digits: the name of cells, files and sources wherever they are named by content. The
// worker has its own digests (kernels/digest) and does not link OpenSSL.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace reprobench {

using Sha256Digest = std::array<std::uint8_t, 32>;

// Throws std::runtime_error if OpenSSL offers no SHA-256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::string_view bytes);

  // Ends the computation; call once.
  Sha256Digest finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string to_hex(const Sha256Digest& digest);
std::string sha256_of_text(std::string_view text);

}  // namespace reprobench

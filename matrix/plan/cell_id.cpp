#include <stdexcept>

#include <openssl/evp.h>

#include "matrix/plan/plan.hpp"

namespace reprobench {

std::string cell_id_of(const CellRequest& request) {
  constexpr std::size_t kDigits =
      12;  // 48 bits: a chance of 2e-5 that two of 100,000 cells collide, and expand() would say so
  const std::string canonical = canonical_request(request).dump();
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  if (EVP_Digest(canonical.data(), canonical.size(), digest, &length, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("SHA-256 is not available");
  }
  constexpr char kHex[] = "0123456789abcdef";
  std::string id;
  for (std::size_t i = 0; i < kDigits / 2; ++i) {
    id += kHex[digest[i] >> 4];
    id += kHex[digest[i] & 15];
  }
  return id;
}

}  // namespace reprobench

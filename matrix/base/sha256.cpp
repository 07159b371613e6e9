#include "matrix/base/sha256.hpp"

#include <stdexcept>

#include <openssl/evp.h>

#include "matrix/base/number.hpp"

namespace reprobench {

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  if (context_->evp == nullptr || EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL offers no SHA-256 on this host");
  }
}

Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) {
  if (EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) != 1) throw std::runtime_error("SHA-256 failed");
}

Sha256Digest Sha256::finish() {
  Sha256Digest digest{};
  if (EVP_DigestFinal_ex(context_->evp, digest.data(), nullptr) != 1) throw std::runtime_error("SHA-256 failed");
  return digest;
}

std::string to_hex(const Sha256Digest& digest) {
  return hex_of_bytes({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string sha256_of_text(std::string_view text) {
  Sha256 sha;
  sha.update(text);
  return to_hex(sha.finish());
}

}  // namespace reprobench

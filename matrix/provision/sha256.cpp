#include "matrix/provision/sha256.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "matrix/provision/provision_error.hpp"

namespace reprobench {
namespace {

bool is_part_of_the_program(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return !name.ends_with("_test.cpp") && !name.ends_with("_bench.cpp") && !name.ends_with("_fuzz.cpp") &&
         !name.ends_with(".md");
}

}  // namespace

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  if (context_->evp == nullptr || EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) != 1) {
    throw ProvisionError("OpenSSL offers no SHA-256 on this host");
  }
}

Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) {
  if (EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) != 1) throw ProvisionError("SHA-256 failed");
}

std::array<std::uint8_t, 32> Sha256::finish() {
  std::array<std::uint8_t, 32> digest{};
  if (EVP_DigestFinal_ex(context_->evp, digest.data(), nullptr) != 1) throw ProvisionError("SHA-256 failed");
  return digest;
}

std::string to_hex(const std::array<std::uint8_t, 32>& digest) {
  std::string text;
  for (const std::uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string to_base64url(const std::array<std::uint8_t, 32>& digest) {
  std::array<unsigned char, 45> encoded{};
  EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(digest.size()));
  std::string text(reinterpret_cast<const char*>(encoded.data()), 43);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

std::string sha256_of_text(std::string_view text) {
  Sha256 sha;
  sha.update(text);
  return to_hex(sha.finish());
}

std::string sha256_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw ProvisionError(fmt::format("{}: cannot be read: {}", file.string(), std::strerror(errno)));
  Sha256 sha;
  std::vector<char> buffer(1 << 20);
  while (stream) {
    stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    sha.update({buffer.data(), static_cast<std::size_t>(stream.gcount())});
  }
  if (stream.bad()) throw ProvisionError(fmt::format("{}: reading it failed", file.string()));
  return to_hex(sha.finish());
}

std::string sha256_of_sources(const std::filesystem::path& root, const std::vector<std::string>& folders) {
  std::vector<std::string> names;
  for (const std::string& folder : folders) {
    if (!std::filesystem::exists(root / folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file() || !is_part_of_the_program(entry.path())) continue;
      names.push_back(entry.path().lexically_relative(root).generic_string());
    }
  }
  std::sort(names.begin(), names.end());
  Sha256 sha;
  for (const std::string& name : names) sha.update(fmt::format("{} {}\n", sha256_of_file(root / name), name));
  return to_hex(sha.finish());
}

}  // namespace reprobench

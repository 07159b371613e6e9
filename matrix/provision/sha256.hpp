// SHA-256 of bytes, files and source trees, in 64 lower-case hex digits.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::string_view bytes);

  // Ends the computation; call once.
  std::array<std::uint8_t, 32> finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string to_hex(const std::array<std::uint8_t, 32>& digest);

// As wheels write it in RECORD: URL-safe base64 without padding.
std::string to_base64url(const std::array<std::uint8_t, 32>& digest);

std::string sha256_of_text(std::string_view text);

// Throws ProvisionError if the file cannot be read.
std::string sha256_of_file(const std::filesystem::path& file);

// Of every regular file below `root`/`folders` but tests, benchmarks and Markdown: relative name and content, in order
// of name. Equal digests mean that a build of these sources gives the same program. Folders that do not exist count as
// empty.
std::string sha256_of_sources(const std::filesystem::path& root, const std::vector<std::string>& folders);

}  // namespace reprobench

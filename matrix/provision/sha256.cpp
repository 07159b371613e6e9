#include "matrix/provision/sha256.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "matrix/base/regular_file.hpp"
#include "matrix/provision/provision_error.hpp"

namespace reprobench {
namespace {

// By its path below the root.
bool is_part_of_the_program(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  const auto lies_in = [&](const char* folder) { return std::find(file.begin(), file.end(), folder) != file.end(); };
  return !lies_in("schema") && !lies_in("testdata") && !name.ends_with("_test.cpp") && !name.ends_with("_bench.cpp") &&
         !name.ends_with("_fuzz.cpp") && !name.ends_with(".md");
}

}  // namespace

std::string to_base64url(const Sha256Digest& digest) {
  std::array<unsigned char, 45> encoded{};
  EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(digest.size()));
  std::string text(reinterpret_cast<const char*>(encoded.data()), 43);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

std::string sha256_of_file(const std::filesystem::path& file) {
  if (const std::string problem = open_regular_file(file).problem; !problem.empty()) {
    throw ProvisionError(fmt::format("{}: cannot be read: {}", file.string(), problem));
  }
  std::ifstream stream(file, std::ios::binary);
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
      const std::filesystem::path name = entry.path().lexically_relative(root);
      if (entry.is_regular_file() && is_part_of_the_program(name)) names.push_back(name.generic_string());
    }
  }
  std::sort(names.begin(), names.end());
  Sha256 sha;
  for (const std::string& name : names) sha.update(fmt::format("{} {}\n", sha256_of_file(root / name), name));
  return to_hex(sha.finish());
}

}  // namespace reprobench

#include "matrix/base/plain_sha256.hpp"

#include <algorithm>

#include "ci/catch.hpp"
#include "matrix/base/sha256.hpp"

namespace reprobench {
namespace {

TEST_CASE("SHA-256 without a library has the published values", "[contract]") {
  CHECK(plain_sha256_of_text("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(plain_sha256_of_text("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(plain_sha256_of_text(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 without a library is the coordinator's at every length of two blocks", "[contract]") {
  std::string text;
  for (int length = 0; length <= 130; ++length) {
    CHECK(plain_sha256_of_text(text) == sha256_of_text(text));
    text += static_cast<char>(length * 37 + 200);
  }
}

TEST_CASE("SHA-256 of bytes in pieces is that of the whole, wherever they are cut", "[contract]") {
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>(i * 29 + 7);
  const std::string whole = plain_sha256_of_text(text);
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (const std::size_t second : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}}) {
      const std::size_t end = std::min(first + second, text.size());
      PlainSha256 sha;
      sha.update(std::string_view(text).substr(0, first));
      sha.update(std::string_view(text).substr(first, end - first));
      sha.update(std::string_view(text).substr(end));
      CHECK(sha.finish() == whole);
    }
  }
}

}  // namespace
}  // namespace reprobench

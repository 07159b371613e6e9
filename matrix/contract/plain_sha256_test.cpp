#include "matrix/contract/plain_sha256.hpp"

#include "ci/catch.hpp"
#include "matrix/contract/sha256.hpp"

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

}  // namespace
}  // namespace reprobench

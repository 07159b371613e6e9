#include "matrix/provision/sha256.hpp"

#include "ci/catch.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/provision_fixture.hpp"

using namespace reprobench;
using namespace reprobench::test;

TEST_CASE("SHA-256 gives the known answers of FIPS 180-4", "[provision]") {
  CHECK(sha256_of_text("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_of_text("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("RECORD's base64 of the empty text is the one every wheel carries for empty files", "[provision]") {
  Sha256 sha;
  CHECK(to_base64url(sha.finish()) == "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
}

TEST_CASE("a file hashes as its content, and one that is missing is named", "[provision]") {
  const TemporaryFolder folder;
  write_file(folder.path / "big", std::string(3'000'000, 'x'));
  CHECK(sha256_of_file(folder.path / "big") == sha256_of_text(std::string(3'000'000, 'x')));
  CHECK_THROWS_AS(sha256_of_file(folder.path / "missing"), ProvisionError);
}

TEST_CASE("the digest of sources follows content and names, but not tests", "[provision]") {
  const TemporaryFolder folder;
  write_file(folder.path / "worker/main.cpp", "int main() {}");
  const std::string first = sha256_of_sources(folder.path, {"worker", "models"});
  write_file(folder.path / "worker/main_test.cpp", "a test");
  write_file(folder.path / "worker/README.md", "a page");
  write_file(folder.path / "worker/schema/result.schema.json", "{}");
  write_file(folder.path / "worker/testdata/2.0/result.json", "{}");
  CHECK(sha256_of_sources(folder.path, {"worker", "models"}) == first);
  write_file(folder.path / "worker/main.cpp", "int main() { }");
  const std::string edited = sha256_of_sources(folder.path, {"worker", "models"});
  CHECK(edited != first);
  std::filesystem::rename(folder.path / "worker/main.cpp", folder.path / "worker/start.cpp");
  CHECK(sha256_of_sources(folder.path, {"worker", "models"}) != edited);
}

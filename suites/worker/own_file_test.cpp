#include "suites/worker/own_file.hpp"

#include <fstream>

#include <sys/stat.h>

#include "ci/catch.hpp"
#include "matrix/contract/plain_sha256.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"

namespace reprobench {
namespace {

std::string cause_of(const std::filesystem::path& path, const std::string& sha256) {
  try {
    read_own_file(path, sha256);
  } catch (const RunFailure& failure) {
    return failure.cause();
  }
  return "";
}

TEST_CASE("a file of the user's is taken by what it holds, through a link or not", "[worker]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "my.json";
  std::ofstream(path, std::ios::binary) << "abc";
  const std::string sha256 = plain_sha256_of_text("abc");
  CHECK(read_own_file(path, sha256) == "abc");
  std::filesystem::create_symlink(path, folder.path() / "link.json");
  CHECK(read_own_file(folder.path() / "link.json", sha256) == "abc");

  std::ofstream(path, std::ios::binary) << "abd";  // as long as before
  CHECK(cause_of(path, sha256) == "input_changed");
  CHECK(cause_of(folder.path() / "link.json", sha256) == "input_changed");
}

TEST_CASE("what is no file any more is not waited for", "[worker]") {
  const TemporaryFolder folder;
  const std::string sha256 = plain_sha256_of_text("");
  CHECK(cause_of(folder.path() / "gone", sha256) == "input_changed");
  CHECK(cause_of(folder.path(), sha256) == "input_changed");
  REQUIRE(mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
  CHECK(cause_of(folder.path() / "pipe", sha256) == "input_changed");
}

}  // namespace
}  // namespace reprobench

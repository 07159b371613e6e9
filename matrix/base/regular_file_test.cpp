#include "matrix/base/regular_file.hpp"

#include <fstream>

#include <sys/stat.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

TEST_CASE("#41: what is no regular file, or is larger than its kind may be, is named and not read", "[contract]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "file") << "12345";
  CHECK(read_regular_file(folder.path / "file", 5).text == "12345");
  CHECK(read_regular_file(folder.path / "file", 5).problem.empty());
  CHECK(read_regular_file(folder.path / "file", 4).problem == "is larger than 4 bytes");
  CHECK(read_regular_file(folder.path / "file", 4).text.empty());
  REQUIRE(mkfifo((folder.path / "fifo").c_str(), 0600) == 0);
  CHECK(read_regular_file(folder.path / "fifo", 5).problem == "is not a regular file");
  CHECK(read_regular_file(folder.path, 5).problem == "is not a regular file");
  CHECK(read_regular_file("/dev/zero", 5).problem == "is not a regular file");
  CHECK(read_regular_file(folder.path / "none", 5).problem == "missing");
  std::ofstream(folder.path / "sparse").flush();
  fs::resize_file(folder.path / "sparse", std::uintmax_t{10} << 30);
  CHECK(read_regular_file(folder.path / "sparse", 1 << 20).problem == "is larger than 1048576 bytes");
  CHECK(read_regular_file("/proc/self/status", 1 << 20).text.starts_with("Name:"));  // whose size is 0
}

TEST_CASE("#41: a link is followed or refused as the caller says", "[contract]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "file") << "12345";
  fs::create_symlink(folder.path / "file", folder.path / "link");
  fs::create_symlink(folder.path / "link to itself", folder.path / "link to itself");
  CHECK(read_regular_file(folder.path / "link", 5).text == "12345");
  CHECK(read_regular_file(folder.path / "link", 5, Links::refused).problem == "is a symbolic link");
  CHECK(read_regular_file(folder.path / "link to itself", 5).problem == "Too many levels of symbolic links");
}

}  // namespace
}  // namespace reprobench

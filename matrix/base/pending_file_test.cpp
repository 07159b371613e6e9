// A file that appears whole, or not at all.
#include "matrix/base/pending_file.hpp"

#include <fstream>
#include <iterator>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/base/write_fully.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

struct PendingScene {
  std::string text() const {
    std::ifstream in(folder / "file");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder), fs::directory_iterator()); }

  TemporaryFolder place;
  fs::path folder = place.path;
};

TEST_CASE("a file is under its name when it is published, and only then", "[contract]") {
  const PendingScene scene;
  std::ofstream(scene.folder / "file") << "old";
  {
    PendingFile file(scene.folder / "file", 0600);
    file.append("ne");
    file.append("w");
    CHECK(scene.text() == "old");
    CHECK(scene.files() == 2);
    file.publish();
    CHECK(scene.text() == "new");
    CHECK(scene.files() == 1);
  }
  CHECK(scene.text() == "new");
  struct stat status {};
  REQUIRE(stat((scene.folder / "file").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("a file that is not published leaves nothing behind", "[contract]") {
  const PendingScene scene;
  {
    PendingFile file(scene.folder / "file", 0600);
    file.append("never seen");
    PendingFile beside(scene.folder / "file", 0600);  // two writers of one file do not meet in it
    CHECK(scene.files() == 2);
  }
  CHECK(scene.files() == 0);
}

TEST_CASE("a file that cannot be written says which and why", "[contract]") {
  const PendingScene scene;
  const auto error_of = [](const auto& write) {
    try {
      write();
    } catch (const std::system_error& error) {
      return error;
    }
    return std::system_error(0, std::generic_category(), "nothing was thrown");
  };
  const std::system_error no_folder = error_of([&] { PendingFile(scene.folder / "none" / "file", 0600); });
  CHECK(no_folder.code().value() == ENOENT);
  CHECK(std::string(no_folder.what()).find("none/file") != std::string::npos);
  fs::create_directory(scene.folder / "taken");
  const std::system_error taken = error_of([&] { PendingFile(scene.folder / "taken", 0600).publish(); });
  CHECK(taken.code().value() != 0);
  CHECK(scene.files() == 1);
  CHECK(write_fully(-1, "x") == EBADF);
  CHECK(write_fully(-1, "") == 0);
}

TEST_CASE("bytes are written whole, however little a pipe takes at a time", "[contract]") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const std::string text(1 << 20, 'p');
  const pid_t writer = fork();
  REQUIRE(writer >= 0);
  if (writer == 0) {
    close(ends[0]);
    _exit(write_fully(ends[1], text));
  }
  close(ends[1]);
  std::string got;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    got.append(buffer, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  CHECK(got == text);
}

}  // namespace
}  // namespace reprobench

// What the loader says of libraries that are there, are not, are damaged, or do not come back.
#include "matrix/host/library_load.hpp"

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"

using namespace reprobench;

TEST_CASE("a library that the loader finds has the path it is loaded from", "[host]") {
  const LibraryLoad by_name = try_to_load("libm.so.6");
  CHECK(by_name.problem.empty());
  CHECK(std::filesystem::path(by_name.path).is_absolute());
  CHECK(std::filesystem::path(by_name.path).filename() == "libm.so.6");
  const LibraryLoad by_path = try_to_load(by_name.path);
  CHECK(by_path.path == by_name.path);
}

TEST_CASE("a library that cannot be loaded has the loader's reason", "[host]") {
  const LibraryLoad absent = try_to_load("libreprobench-no-such.so.1");
  CHECK(absent.path.empty());
  CHECK(absent.problem.find("libreprobench-no-such.so.1: cannot open shared object file") == 0);

  const TemporaryFolder folder;
  const auto file = folder.path / "damaged.so";
  std::ofstream(file) << "no library";
  const LibraryLoad damaged = try_to_load(file.string());
  CHECK(damaged.path.empty());
  CHECK(damaged.problem.find(file.string()) == 0);
}

TEST_CASE("a load that takes longer than one waits is a problem, not a wait", "[host]") {
  const LibraryLoad late = try_to_load("libm.so.6", std::chrono::milliseconds{0});
  CHECK(late.path.empty());
  CHECK(late.problem == "loading it does not come back");
}

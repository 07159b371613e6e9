#include "matrix/exec/attempt_disk.hpp"

#include <unistd.h>

#include "matrix/exec/process_scene.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

void fill_file(const fs::path& path, std::size_t bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << std::string(bytes, 'x');
}

TEST_CASE("#41: a folder is over its bound by one large file, or by many small ones", "[exec]") {
  const TemporaryFolder folder;
  const DiskBound bound{.attempt_bytes = 1 << 20, .free_bytes = 0};
  fill_file(folder.path / "a/b/small", 1000);
  CHECK(over_disk_bound(folder.path, bound).empty());
  CHECK(over_disk_bound(folder.path, {}).empty());
  SECTION("one large file") { fill_file(folder.path / "a/b/large", 2 << 20); }
  SECTION("many empty files") {
    for (int i = 0; i < 300; ++i) fill_file(folder.path / "a" / std::to_string(i), 0);
  }
  CHECK(over_disk_bound(folder.path, bound) == "its files take more than 1048576 bytes of the disk");
}

TEST_CASE("a file that is large and has no blocks, and one behind a link, take nothing of the disk", "[exec]") {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  fill_file(other.path / "large", 2 << 20);
  fs::create_directory_symlink(other.path, folder.path / "link");
  fill_file(folder.path / "sparse", 0);
  fs::resize_file(folder.path / "sparse", 1 << 30);
  CHECK(over_disk_bound(folder.path, {.attempt_bytes = 1 << 20, .free_bytes = 0}).empty());
}

TEST_CASE("#41: what hides from a look is over the bound: too deep a nest, no room left on the disk", "[exec]") {
  const TemporaryFolder folder;
  fs::path deep = folder.path;
  for (int i = 0; i < 70; ++i) deep /= "d";
  fs::create_directories(deep);
  CHECK(over_disk_bound(folder.path, {.attempt_bytes = 1 << 20, .free_bytes = 0}) ==
        "folders of the attempt are nested deeper than 64");
  const auto all = std::numeric_limits<std::int64_t>::max();
  CHECK(contains(over_disk_bound(folder.path, {.attempt_bytes = 0, .free_bytes = all}),
                 " bytes are left on the disk, and 9223372036854775807 have to be while it runs"));
}

// A worker that fills its attempt's folder in another way, and then waits.
AttemptRecord end_of_filler(const std::string& fill, const DiskBound& bound) {
  const TemporaryFolder tools;
  const fs::path worker = tools.path / "worker";
  std::ofstream(worker) << "#!/bin/sh\n" + fill + "\nexec " + kFakeWorker + " \"$@\"\n";
  fs::permissions(worker, fs::perms::owner_all);
  ProcessScene scene;
  scene.options.disk = bound;
  scene.workers["ok,hang"] = {{worker}, {"--do", "hang"}, {}};
  const AttemptRecord attempt = scene.end_of("ok,hang");
  const RunRecord read_again = load_run(scene.folder.string());
  CHECK(read_again.cells[0].attempts[0].end == attempt.end);
  CHECK(read_again.cells[0].attempts[0].detail == attempt.detail);
  return attempt;
}

TEST_CASE("#41: an attempt that fills the disk is killed and says so, and the next one completes", "[exec][process]") {
  const std::string fill = GENERATE(std::string("head -c 3000000 /dev/zero >large"),
                                    std::string("i=0; while [ $i -lt 600 ]; do : >small-$i; i=$((i + 1)); done"),
                                    std::string("trap '' TERM; head -c 3000000 /dev/zero >large; sleep 60"));
  const AttemptRecord attempt = end_of_filler(fill, {.attempt_bytes = 2 << 20, .free_bytes = 0});
  CHECK(attempt.end == AttemptEnd::disk_limit);
  CHECK(contains(attempt.detail, "its files take more than 2097152 bytes of the disk"));
}

TEST_CASE("#41: an attempt that ends before it is looked at does not pass over its bound", "[exec][process]") {
  const TemporaryFolder tools;
  const fs::path worker = tools.path / "worker";
  std::ofstream(worker) << "#!/bin/sh\nhead -c 3000000 /dev/zero >large\nexec " + kFakeWorker + " \"$@\"\n";
  fs::permissions(worker, fs::perms::owner_all);
  const auto end_with = [&](std::int64_t bytes) {
    ProcessScene scene;
    scene.options.disk.attempt_bytes = bytes;
    scene.workers["large,ok"] = {{worker}, {"--do", "ok"}, {}};
    return scene.end_of("large,ok").end;
  };
  CHECK(end_with(2 << 20) == AttemptEnd::disk_limit);
  CHECK(end_with(8 << 20) == AttemptEnd::completed);
}

}  // namespace
}  // namespace reprobench

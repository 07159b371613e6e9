#include "matrix/record/abandoned_files.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include "ci/catch.hpp"
#include "matrix/record/result_index.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTemporary = ".verdict.json.0123456789abcdef.tmp";

fs::path empty_file(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "";
  return path;
}

FileDescriptor locked(const fs::path& path) {
  FileDescriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(flock(fd.get(), LOCK_EX | LOCK_NB) == 0);
  return fd;
}

TEST_CASE("#41: temporaries of a killed writer are removed, and nothing of another name", "[record]") {
  const TemporaryFolder folder;
  empty_file(folder.path / kTemporary);
  const char* others[] = {".verdict.json.0123456789abcde.tmp",
                          ".verdict.json.0123456789abcdeg.tmp",
                          "verdict.json.0123456789abcdef.tmp",
                          ".verdict.json.0123456789abcdef.tmp.old",
                          ".0123456789abcdef.tmp",
                          ".verdict.json-0123456789abcdef.tmp"};
  for (const char* name : others) empty_file(folder.path / name);
  fs::create_symlink("elsewhere", folder.path / ".link.0123456789abcdef.tmp");
  remove_abandoned_files(folder.path);
  CHECK_FALSE(fs::exists(folder.path / kTemporary));
  for (const char* name : others) CHECK(fs::exists(folder.path / name));
  CHECK(fs::is_symlink(folder.path / ".link.0123456789abcdef.tmp"));
  remove_abandoned_files(folder.path / "absent");
}

TEST_CASE("#41: a temporary whose writer lives is not touched", "[record]") {
  const TemporaryFolder folder;
  write_file_atomically(folder.path / "verdict.json", [&](const TextSink& sink) {
    sink("half ");
    remove_abandoned_files(folder.path);
    sink("and half");
  });
  CHECK(read_file(folder.path / "verdict.json") == "half and half");
  empty_file(folder.path / kTemporary);
  {
    const FileDescriptor owned = own_hidden_names(folder.path);
    REQUIRE(owned.is_open());
    remove_abandoned_files(folder.path);
    CHECK(fs::exists(folder.path / kTemporary));
  }
  remove_abandoned_files(folder.path);
  CHECK_FALSE(fs::exists(folder.path / kTemporary));
  CHECK_FALSE(own_hidden_names(folder.path / "absent").is_open());
}

TEST_CASE("#41: a merge is removed when nobody holds it, also if it died before its lock", "[record]") {
  const TemporaryFolder runs;
  empty_file(runs.path / ".m1.merging/lock");
  empty_file(runs.path / ".m2.merging/cells/half");
  empty_file(runs.path / ".m3.merging/lock");
  empty_file(runs.path / "m4.merging/lock");
  {
    const FileDescriptor owned = own_hidden_names(runs.path);
    remove_abandoned_merges(runs.path);
    CHECK(fs::exists(runs.path / ".m1.merging"));
  }
  const FileDescriptor held = locked(runs.path / ".m3.merging/lock");
  remove_abandoned_merges(runs.path);
  CHECK_FALSE(fs::exists(runs.path / ".m1.merging"));
  CHECK_FALSE(fs::exists(runs.path / ".m2.merging"));
  CHECK(fs::exists(runs.path / ".m3.merging/lock"));
  CHECK(fs::exists(runs.path / "m4.merging"));
}

TEST_CASE("#41: an index that was being built is removed by the next call that has the index to itself", "[record]") {
  const TemporaryFolder store;
  empty_file(store.path / ".index.7.db");
  empty_file(store.path / ".index.7.db-wal");
  empty_file(store.path / ".index.txt");
  SECTION("which opens it") { ResultIndex(store.path); }
  SECTION("which rebuilds it") { ResultIndex::rebuild(store.path); }
  CHECK_FALSE(has_unfinished_index(store.path));
  CHECK(fs::exists(store.path / ".index.txt"));
  const ResultIndex other(store.path);
  empty_file(store.path / ".index.8.db");
  const ResultIndex beside_it(store.path);
  CHECK(has_unfinished_index(store.path));
}

TEST_CASE("#41: a rebuild removes what killed processes left in the store", "[record]") {
  const TemporaryFolder store;
  empty_file(store.path / "runs/.m1.merging/lock");
  for (const char* folder : {"runs/r1", "runs/r1/inputs", "runs/r1/report"}) {
    empty_file(store.path / folder / kTemporary);
  }
  ResultIndex::rebuild(store.path);
  CHECK_FALSE(fs::exists(store.path / "runs/.m1.merging"));
  for (const char* folder : {"runs/r1", "runs/r1/inputs", "runs/r1/report"}) {
    CHECK_FALSE(fs::exists(store.path / folder / kTemporary));
  }
}

}  // namespace
}  // namespace reprobench

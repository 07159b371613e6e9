// What a seal says of files whose sizes and SHA-256 sums are known from elsewhere, and what breaks it.
#include "matrix/record/seal.hpp"

#include <sys/stat.h>

#include "ci/catch.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

// Of the FIPS 180 example `abc`, of nothing, and of a million times `a`.
constexpr const char* kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* kOfMillion = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

struct SealedAttempt {
  SealedAttempt() {
    fs::create_directories(folder.path / "rank-0");
    std::ofstream(folder.path / "rank-0" / "trace.jsonl") << "abc";
    std::ofstream(folder.path / "telemetry.jsonl") << std::string(1'000'000, 'a');
    std::ofstream(folder.path / "rank-0" / "stderr.log") << "";
  }
  fs::path file(const char* name) const { return folder.path / name; }

  TemporaryFolder folder;
};

TEST_CASE("a seal names every plain file below the folder with its size and SHA-256, in order of name", "[record]") {
  const SealedAttempt scene;
  fs::create_symlink(scene.file("rank-0/trace.jsonl"), scene.file("link"));
  REQUIRE(mkfifo(scene.file("fifo").c_str(), 0600) == 0);
  std::ofstream(scene.file("one-name")) << "x";
  fs::create_hard_link(scene.file("one-name"), scene.file("another-name"));
  CHECK(seal_files(scene.folder.path) == std::vector<SealedFile>{{"rank-0/stderr.log", 0, kOfNothing},
                                                                 {"rank-0/trace.jsonl", 3, kOfAbc},
                                                                 {"telemetry.jsonl", 1'000'000, kOfMillion}});
  CHECK_THROWS_AS(seal_files(scene.folder.path / "none"), StoreError);
}

TEST_CASE("above 4 GiB the size alone is sealed", "[record]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "sparse") << "";
  fs::resize_file(folder.path / "sparse", (std::uintmax_t{4} << 30) + 1);
  CHECK(seal_files(folder.path) == std::vector<SealedFile>{{"sparse", (std::int64_t{4} << 30) + 1, ""}});
}

TEST_CASE("a seal holds while the files are the sealed ones, and says which is not", "[record]") {
  const SealedAttempt scene;
  const std::vector<SealedFile> sealed = seal_files(scene.folder.path);
  CHECK(broken_seal(scene.folder.path, sealed).empty());
  CHECK(broken_seal(scene.file("none"), sealed) == "its folder is missing since it was judged");
  CHECK(broken_seal(scene.file("none"), {}) == "its folder is missing since it was judged");
  std::string expected;
  SECTION("another byte") {
    std::ofstream(scene.file("rank-0/trace.jsonl")) << "abd";
    expected = "rank-0/trace.jsonl changed since it was judged";
  }
  SECTION("a byte more") {
    std::ofstream(scene.file("rank-0/stderr.log")) << "a";
    expected = "rank-0/stderr.log changed since it was judged";
  }
  SECTION("gone") {
    fs::remove(scene.file("telemetry.jsonl"));
    expected = "telemetry.jsonl is missing since it was judged";
  }
  SECTION("a link in its place") {
    fs::rename(scene.file("telemetry.jsonl"), scene.file("rank-0/elsewhere"));
    fs::create_symlink(scene.file("rank-0/elsewhere"), scene.file("telemetry.jsonl"));
    expected = "telemetry.jsonl is missing since it was judged";
  }
  SECTION("come") {
    std::ofstream(scene.file("rank-0/core")) << "";
    expected = "rank-0/core appeared since it was judged";
  }
  CHECK(broken_seal(scene.folder.path, sealed) == expected);
}

TEST_CASE("a run is sealed by its plan and its journal, and cannot be without one of them", "[record]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "plan.json") << "abc";
  CHECK(what_of([&] { seal_of_run(folder.path); }) ==
        "cannot read " + (folder.path / "journal.jsonl").string() + ": missing");
  std::ofstream(folder.path / "journal.jsonl") << "";
  CHECK(seal_of_run(folder.path) == RunSeal{kOfAbc, kOfNothing});
  fs::remove(folder.path / "plan.json");
  CHECK(what_of([&] { seal_of_run(folder.path); }) ==
        "cannot read " + (folder.path / "plan.json").string() + ": missing");
}

}  // namespace
}  // namespace reprobench

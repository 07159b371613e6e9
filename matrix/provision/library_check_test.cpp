#include "matrix/provision/library_check.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "ci/catch.hpp"
#include "matrix/provision/environment_fixture.hpp"

using namespace reprobench;
using namespace reprobench::test;

namespace {

// So long that a file's times tell every change from here on.
void wait() {
  constexpr timespec kTicks{.tv_sec = 0, .tv_nsec = 120'000'000};
  nanosleep(&kTicks, nullptr);
}

// A stack's folder with two libraries, of which one is a real one.
struct SmallSite {
  SmallSite() {
    link_library(site() / "torch/lib/libtorch_cpu.so", {"libtorch_cpu.so", {}, "", false, "0x0a29"});
    write_file(site() / "torch/lib/libplain.so", "bytes");
    for (const char* name : {"torch/lib/libtorch_cpu.so", "torch/lib/libplain.so"}) {
      manifest.files.push_back({.path = name, .size_bytes = 0, .sha256 = sha256_of_file(site() / name)});
    }
    wait();
  }
  std::filesystem::path site() const { return folder.path / "site"; }
  LibraryCheck check() const { return check_libraries(folder.path, manifest); }

  TemporaryFolder folder;
  StackManifest manifest;
};

// Other bytes of the same length under the same times of change, as a careful hand puts them there.
void patch(const std::filesystem::path& file) {
  struct stat before {};
  REQUIRE(stat(file.c_str(), &before) == 0);
  std::string text = read_file(file);
  text.back() ^= 1;
  write_file(file, text);
  const timespec times[] = {before.st_atim, before.st_mtim};
  REQUIRE(utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
}

}  // namespace

TEST_CASE("#40: a worker that is not the one that was built, or whose digest is gone, is named", "[provision]") {
  const SmallSite small;
  const auto worker = small.folder.path / "workers/0/reprobench-worker";
  const auto digest = worker.parent_path() / "reprobench-worker.sha256";
  write_file(worker, "a program");
  write_file(digest, sha256_of_file(worker));
  const std::string built = sha256_of_file(worker);
  wait();
  const auto changed = [&] { return check_libraries(small.folder.path, small.manifest, worker).changed; };
  for (int time = 0; time < 2; ++time) CHECK(changed().empty());
  CHECK(check_libraries(small.folder.path, small.manifest, worker).installed.libraries.size() == 2);
  patch(worker);
  for (int time = 0; time < 2; ++time) {
    REQUIRE(changed().size() == 1);
    CHECK(changed().front() ==
          worker.string() + ": SHA-256 is " + sha256_of_file(worker) + ", it was " + built + " when built");
  }
  CHECK(small.check().changed.empty());
  patch(worker);  // back again
  CHECK(changed().empty());
  std::filesystem::remove(digest);
  CHECK(changed().size() == 1);
  std::filesystem::remove(worker);
  CHECK(changed() == std::vector{worker.string() + " is missing"});
}

TEST_CASE("libraries that are as they were installed are known by build id and hash", "[provision]") {
  const SmallSite small;
  for (int time = 0; time < 2; ++time) {
    const LibraryCheck check = small.check();
    CHECK(check.changed.empty());
    REQUIRE(check.installed.libraries.size() == 2);
    CHECK(check.installed.libraries[0].path == "site/torch/lib/libtorch_cpu.so");
    CHECK(check.installed.libraries[0].build_id == "0a29");
    CHECK(check.installed.libraries[1].build_id.empty());
    CHECK(check.installed.libraries[1].sha256 == sha256_of_text("bytes"));
  }
}

TEST_CASE("a patched library is found under its old size, time and build id, a missing one too", "[provision]") {
  const SmallSite small;
  REQUIRE(small.check().changed.empty());
  SECTION("in its place") { patch(small.site() / "torch/lib/libtorch_cpu.so"); }
  SECTION("another file under its name") {
    std::filesystem::copy_file(small.site() / "torch/lib/libtorch_cpu.so", small.folder.path / "copy");
    patch(small.folder.path / "copy");
    std::filesystem::rename(small.folder.path / "copy", small.site() / "torch/lib/libtorch_cpu.so");
  }
  for (int time = 0; time < 2; ++time) {
    const auto changed = small.check().changed;
    REQUIRE(changed.size() == 1);
    CHECK_THAT(changed[0], ContainsSubstring("site/torch/lib/libtorch_cpu.so: SHA-256 is"));
  }
  std::filesystem::remove(small.site() / "torch/lib/libplain.so");
  CHECK_THAT(small.check().changed.at(1), ContainsSubstring("libplain.so is missing"));
}

TEST_CASE("files that did not change are not hashed again, others are", "[provision]") {
  const SmallSite small;
  REQUIRE(small.check().changed.empty());
  // Only who takes the hash from what is kept can be told another one.
  const std::filesystem::path kept = small.folder.path / "libraries.json";
  std::string text = read_file(kept);
  const std::string hash = sha256_of_text("bytes");
  text.replace(text.find(hash), hash.size(), std::string(64, '0'));
  write_file(kept, text);
  CHECK(small.check().changed.size() == 1);
  SECTION("a touched file is") {
    REQUIRE(utimensat(AT_FDCWD, (small.site() / "torch/lib/libplain.so").c_str(), nullptr, 0) == 0);
    CHECK(small.check().changed.empty());
  }
  SECTION("a file that was changed between two ticks would not tell, so it is hashed until it rests") {
    patch(small.site() / "torch/lib/libplain.so");
    const std::string other_hash = sha256_of_file(small.site() / "torch/lib/libplain.so");
    REQUIRE(small.check().changed.size() == 1);
    CHECK(read_file(kept).find(other_hash) == std::string::npos);
    wait();
    REQUIRE(small.check().changed.size() == 1);
    CHECK(read_file(kept).find(other_hash) != std::string::npos);
  }
  SECTION("all are where nothing that can be read is kept") {
    for (const char* broken : {"", "{", "{\"schema\": 1}"}) {
      write_file(kept, broken);
      CHECK(small.check().changed.empty());
    }
  }
}

TEST_CASE("a worker tells the site that it was linked for, one without is none's", "[provision]") {
  const TemporaryFolder folder;
  link_library(folder.path / "worker", {"worker", {}, "/home/stack/site/torch/lib:/home/stack/site/nvidia", true});
  CHECK(linked_site(folder.path / "worker") == "/home/stack/site/torch/lib");
  link_library(folder.path / "system", {"system", {}, "/usr/lib/torch", true});
  CHECK(linked_site(folder.path / "system").empty());
  write_file(folder.path / "script", "#!/bin/sh\n");
  CHECK(linked_site(folder.path / "script").empty());
}

TEST_CASE("a library of an adopted environment that was patched in place is named, until it is adopted again",
          "[provision]") {
  const TemporaryFolder environment;
  const std::filesystem::path library = environment.path / "libtorch_cpu.so";
  link_library(library, {"libtorch_cpu.so", {}, "", false, "0x0a29"});
  const TemporaryFolder folder;
  wait();
  const auto changed = [&] { return check_libraries(folder.path, {}).changed; };
  CHECK(changed().empty());  // of an older build, which hashed none
  hash_adopted_libraries(folder.path, {library.string()});
  CHECK(changed().empty());
  CHECK(check_libraries(folder.path, {}).installed.libraries.empty());
  patch(library);
  REQUIRE(changed().size() == 1);
  CHECK_THAT(changed()[0], Catch::StartsWith(library.string() + ": SHA-256 is ") && Catch::EndsWith(" when adopted"));
  hash_adopted_libraries(folder.path, {library.string()});
  CHECK(changed().empty());
  std::filesystem::remove(library);
  CHECK(changed() == std::vector<std::string>{library.string() + " is missing"});
}

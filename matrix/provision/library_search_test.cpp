#include "matrix/provision/library_search.hpp"

#include <algorithm>

#include <sys/stat.h>

#include "ci/catch.hpp"
#include "matrix/provision/environment_fixture.hpp"

using namespace reprobench;
using namespace reprobench::test;

namespace {

std::string path_of(const LibrarySearch& search, const std::string& name) {
  for (const FoundLibrary& library : search.found) {
    if (library.name == name) return library.path;
  }
  return "not found";
}

}  // namespace

TEST_CASE("folders are searched in the loader's order", "[provision]") {
  const TemporaryFolder folder;
  const auto at = [&](const std::string& below) { return (folder.path / below).string(); };
  for (const char* place : {"rpath", "program", "runpath", "host"}) {
    link_library(at(place) + "/libx.so.1",
                 {"libx.so.1", {}, "", false, place == std::string("rpath") ? "0x02" : "0x03"});
  }
  const LoaderFolders folders{.of_program = {at("program")}, .of_host = {at("host")}};
  link_library(at("a/liba.so"), {"liba.so", {"libx.so.1"}, "$ORIGIN/../rpath"});
  CHECK(path_of(search_libraries({at("a/liba.so")}, folders), "libx.so.1") == at("rpath/libx.so.1"));

  // A DT_RUNPATH comes after LD_LIBRARY_PATH, and turns off the DT_RPATH of those before.
  link_library(at("b/libb.so"), {"libb.so", {"libx.so.1"}, "$ORIGIN/../runpath", true});
  CHECK(path_of(search_libraries({at("b/libb.so")}, folders), "libx.so.1") == at("program/libx.so.1"));
  CHECK(path_of(search_libraries({at("b/libb.so")}, {{}, {at("host")}}), "libx.so.1") == at("runpath/libx.so.1"));
  link_library(at("c/libc.so"), {"libc.so", {"libb.so"}, "$ORIGIN/../rpath:$ORIGIN/../b"});
  CHECK(path_of(search_libraries({at("c/libc.so")}, {{}, {}}), "libx.so.1") == at("runpath/libx.so.1"));

  // A DT_RPATH is inherited by what is loaded through it.
  link_library(at("b/libplain.so"), {"libplain.so", {"libx.so.1"}});
  link_library(at("d/libd.so"), {"libd.so", {"libplain.so"}, "$ORIGIN/../rpath:$ORIGIN/../b"});
  const LibrarySearch inherited = search_libraries({at("d/libd.so")}, {{}, {at("host")}});
  CHECK(path_of(inherited, "libx.so.1") == at("rpath/libx.so.1"));
  REQUIRE(inherited.second_copies.size() == 1);
  CHECK(inherited.second_copies[0].name == "libx.so.1");
  CHECK(inherited.second_copies[0].other == at("host/libx.so.1"));
}

TEST_CASE("a copy for processors of this kind comes before the folder that it lies in", "[provision]") {
  const TemporaryFolder folder;
  const auto at = [&](const std::string& below) { return (folder.path / below).string(); };
  link_library(at("first/libx.so.1"), {"libx.so.1"});
  link_library(at("second/libx.so.1"), {"libx.so.1", {}, "", false, "0x02"});
  link_library(at("second/glibc-hwcaps/x86-64-v2/libx.so.1"), {"libx.so.1", {}, "", false, "0x03"});
  link_library(at("liba.so"), {"liba.so", {"libx.so.1"}});
  const LibrarySearch behind = search_libraries({at("liba.so")}, {{at("first"), at("second")}, {}});
  CHECK(path_of(behind, "libx.so.1") == at("first/libx.so.1"));
  const LibrarySearch search = search_libraries({at("liba.so")}, {{at("second"), at("first"), at("second")}, {}});
  const bool is_of_this_kind = __builtin_cpu_supports("sse4.2") != 0;
  CHECK(path_of(search, "libx.so.1") ==
        at(is_of_this_kind ? "second/glibc-hwcaps/x86-64-v2/libx.so.1" : "second/libx.so.1"));
  // Said whatever processor asks: an image is started on others.
  REQUIRE(search.by_processor.size() == 1);
  CHECK(search.by_processor[0].taken == at("second/libx.so.1"));
  CHECK(search.by_processor[0].other == at("second/glibc-hwcaps/x86-64-v2/libx.so.1"));
  link_library(at("third/glibc-hwcaps/x86-64-v9/libx.so.1"), {"libx.so.1"});
  CHECK(search_libraries({at("liba.so")}, {{at("third")}, {}}).missing.size() == 1);
}

TEST_CASE("a copy with the same content is no second copy", "[provision]") {
  const TemporaryFolder folder;
  link_library(folder.path / "one/libx.so.1", {"libx.so.1"});
  std::filesystem::copy(folder.path / "one", folder.path / "two");
  link_library(folder.path / "liba.so", {"liba.so", {"libx.so.1"}, "$ORIGIN/one:$ORIGIN/two"});
  CHECK(search_libraries({(folder.path / "liba.so").string()}, {}).second_copies.empty());
}

TEST_CASE("what is missing or damaged is named with what needs it", "[provision]") {
  const TemporaryFolder folder;
  const std::string a = (folder.path / "liba.so").string();
  link_library(a, {"liba.so", {"libx.so.1", "liby.so.1"}, "$ORIGIN"});
  write_file(folder.path / "liby.so.1", "not a library");
  const LibrarySearch search = search_libraries({a}, {});
  REQUIRE(search.missing.size() == 1);
  CHECK(search.missing[0].name == "libx.so.1");
  CHECK(search.missing[0].needed_by == a);
  CHECK(search.damaged == std::vector<std::string>{(folder.path / "liby.so.1").string()});
}

TEST_CASE("a library is known by its build id, or by its content where it has none", "[provision]") {
  const TemporaryFolder folder;
  link_library(folder.path / "liba.so", {"liba.so", {}, "", false, "0x00ff"});
  link_library(folder.path / "libb.so", {"libb.so", {}, "", false, "none"});
  CHECK(library_identity((folder.path / "liba.so").string()) == "00ff");
  CHECK(library_identity((folder.path / "libb.so").string()) == "sha256:" + sha256_of_file(folder.path / "libb.so"));
}

TEST_CASE("#41: a loader configuration that includes itself, or is no file, ends", "[provision]") {
  const TemporaryFolder folder;
  write_file(folder.path / "etc/ld.so.conf", "include ld.so.conf\ninclude /etc/*.conf\n/opt/lib\n");
  REQUIRE(mkfifo((folder.path / "etc/pipe.conf").c_str(), 0600) == 0);
  const auto folders = host_library_folders(folder.path.string());
  CHECK(std::ranges::count(folders, (folder.path / "opt/lib").string()) == 1);
}

TEST_CASE("the host's folders are those of ld.so.conf, then the loader's own", "[provision]") {
  const TemporaryFolder folder;
  write_file(folder.path / "etc/ld.so.conf", "# comment\ninclude /etc/ld.so.conf.d/*.conf\n/opt/lib\n");
  write_file(folder.path / "etc/ld.so.conf.d/cuda.conf", "/usr/local/cuda/lib64 # toolkit\n");
  const std::vector<std::string> folders = host_library_folders(folder.path.string());
  REQUIRE(folders.size() > 2);
  CHECK(folders[0] == (folder.path / "usr/local/cuda/lib64").string());
  CHECK(folders[1] == (folder.path / "opt/lib").string());
  CHECK(folders.back() == (folder.path / "usr/lib").string());
}

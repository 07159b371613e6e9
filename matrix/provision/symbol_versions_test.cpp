#include "matrix/provision/symbol_versions.hpp"

#include "ci/catch.hpp"
#include "matrix/provision/environment_fixture.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using namespace test;
using Needed = std::map<std::string, std::set<std::string>>;

// A library that defines these versions, the last on top of the others.
void link_versioned(const fs::path& path, const std::vector<std::string>& versions) {
  const TemporaryFolder folder;
  std::string script;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    script += versions[i] + " {" + (i == 0 ? "global: f; local: *;" : "") + "}" +
              (i == 0 ? "" : " " + versions[i - 1]) + ";\n";
  }
  write_file(folder.path / "map", script);
  write_file(folder.path / "f.c", "int f(void) { return 1; }\n");
  fs::create_directories(path.parent_path());
  const std::string command = fmt::format(
      "c++ -shared -fPIC -nostdlib -x c {0}/f.c -x none -o {1} -Wl,-soname,{2} -Wl,--version-script={0}/map",
      folder.path.string(), path.string(), path.filename().string());
  REQUIRE(std::system(command.c_str()) == 0);
}

TEST_CASE("a program of this host needs versions that this host's libraries define", "[provision]") {
  const Needed needed = needed_symbol_versions("/proc/self/exe");
  REQUIRE(needed.contains("libc.so.6"));
  REQUIRE(needed.contains("libstdc++.so.6"));
  CHECK(needed.at("libc.so.6").contains("GLIBC_2.34"));
  const std::vector<std::string> folders = host_library_folders("/");
  CHECK(missing_symbol_versions(needed, folders).empty());
  Needed newer = needed;
  newer["libc.so.6"].insert("GLIBC_9.99");
  CHECK_THAT(missing_symbol_versions(newer, folders), Catch::EndsWith("/libc.so.6 lacks GLIBC_9.99"));
}

TEST_CASE("a version that a library lacks is named with the library, and one that is missing too", "[provision]") {
  const TemporaryFolder root;
  const fs::path lib = root.path / "lib";
  link_versioned(lib / "libc.so.6", {"GLIBC_2.2.5", "GLIBC_2.17"});
  CHECK(defined_symbol_versions(lib / "libc.so.6") == std::set<std::string>{"libc.so.6", "GLIBC_2.2.5", "GLIBC_2.17"});
  const std::vector<std::string> search = {(root.path / "first").string(), lib.string()};
  CHECK(missing_symbol_versions({{"libc.so.6", {"GLIBC_2.17"}}}, search).empty());
  CHECK(missing_symbol_versions({{"libc.so.6", {"GLIBC_2.17", "GLIBC_2.34", "GLIBC_2.38"}}}, search) ==
        fmt::format("its {}/libc.so.6 lacks GLIBC_2.34, GLIBC_2.38", lib.string()));
  CHECK(missing_symbol_versions({{"libc.so.6", {"GLIBC_2.17"}}, {"libstdc++.so.6", {"GLIBCXX_3.4"}}}, search) ==
        "it has no libstdc++.so.6");
  // The first that the loader would take counts, which is none of another architecture.
  write_file(root.path / "first/libc.so.6", "no library");
  CHECK(missing_symbol_versions({{"libc.so.6", {"GLIBC_2.17"}}}, search).empty());
  fs::remove(root.path / "first/libc.so.6");
  link_versioned(root.path / "first/libc.so.6", {"GLIBC_2.2.5"});
  CHECK_THAT(missing_symbol_versions({{"libc.so.6", {"GLIBC_2.17"}}}, search), Catch::StartsWith("its " + search[0]));
}

TEST_CASE("what is no library, or cut off, defines and needs nothing", "[provision]") {
  const TemporaryFolder folder;
  const fs::path whole = folder.path / "libx.so.1";
  link_versioned(whole, {"X_1"});
  const std::string bytes = read_file(whole);
  for (std::size_t length = 0; length < bytes.size(); length += 97) {
    write_file(folder.path / "cut", bytes.substr(0, length));
    CHECK(defined_symbol_versions(folder.path / "cut").size() <= 2);
    CHECK(needed_symbol_versions(folder.path / "cut").empty());
  }
  CHECK(defined_symbol_versions(folder.path / "none").empty());
  CHECK(needed_symbol_versions(folder.path).empty());
}

}  // namespace
}  // namespace reprobench

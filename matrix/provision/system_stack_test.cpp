#include "matrix/provision/system_stack.hpp"

#include "ci/catch.hpp"
#include "matrix/provision/provision_fixture.hpp"

using namespace reprobench;
using namespace reprobench::test;

namespace {

std::string version_header(int major, int minor, int patch) {
  return fmt::format(
      "#pragma once\n/// Indicates the major version.\n#define TORCH_VERSION_MAJOR {}\n"
      "#define TORCH_VERSION_MINOR {}\n#define TORCH_VERSION_PATCH {}\n",
      major, minor, patch);
}

// A root folder laid out as Debian's libtorch-dev lays out /.
class FakeRoot {
 public:
  FakeRoot() {
    spec_.source = StackSource::system;
    spec_.package = "libtorch-dev";
    spec_.package_version = "1.13.1";
    spec_.include_dirs = {(folder_.path / "include").string(),
                          (folder_.path / "include/torch/csrc/api/include").string()};
    spec_.library_dirs = {(folder_.path / "lib").string()};
  }
  void add_headers(const std::string& text) {
    write_file(folder_.path / "include/torch/csrc/api/include/torch/version.h", text);
  }
  void add_library(const std::string& name) { write_file(folder_.path / "lib" / name, "ELF"); }
  std::string problem(const std::string& package_version) const {
    return find_system_problem(spec_, [&](const std::string&) { return package_version; });
  }
  std::string path(const std::string& below) const { return (folder_.path / below).string(); }

 private:
  TemporaryFolder folder_;
  StackSpec spec_;
};

}  // namespace

TEST_CASE("a system stack is there when headers, package and libraries agree", "[provision]") {
  FakeRoot root;
  root.add_headers(version_header(1, 13, 1));
  root.add_library("libtorch_cpu.so");
  root.add_library("libc10.so");
  CHECK(root.problem("").empty());
}

TEST_CASE("Debian's headers that say 1.13.0 are believed only with the package at 1.13.1", "[provision]") {
  FakeRoot root;
  root.add_headers(version_header(1, 13, 0));
  root.add_library("libtorch_cpu.so");
  root.add_library("libc10.so");
  CHECK(root.problem("1.13.1+dfsg-4").empty());
  CHECK(root.problem("1:1.13.1+dfsg-4").empty());
  CHECK(root.problem("1.13.1~rc1").empty());
  CHECK(root.problem("1.13.1-4ubuntu1").empty());
  CHECK(root.problem("1.13.10-1") == "libtorch-dev 1.13.1 is not installed; found 1.13.10");
  CHECK(root.problem("1.13.0+dfsg-1") == "libtorch-dev 1.13.1 is not installed; found 1.13.0");
  CHECK(root.problem("") == "libtorch-dev 1.13.1 is not installed; found 1.13.0");
}

TEST_CASE("another release of LibTorch is named, whatever the package claims", "[provision]") {
  FakeRoot root;
  root.add_headers(version_header(2, 1, 2));
  CHECK(root.problem("1.13.1+dfsg-4") == "libtorch-dev 1.13.1 is not installed; found 2.1.2");
}

TEST_CASE("the package is asked only where the headers are of its minor release", "[provision]") {
  struct Row {
    int major, minor, patch;
    const char* package;
    const char* found;  // empty: believed
  };
  for (const Row& row : {Row{1, 13, 0, "1.13.1", ""}, Row{1, 13, 9, "1.13.1", ""}, Row{1, 1, 3, "1.13.1", "1.1.3"},
                         Row{1, 12, 1, "1.13.1", "1.12.1"}, Row{1, 130, 1, "1.13.1", "1.130.1"},
                         Row{11, 13, 1, "1.13.1", "11.13.1"}, Row{2, 13, 1, "1.13.1", "2.13.1"}}) {
    CAPTURE(row.major, row.minor, row.patch);
    FakeRoot root;
    root.add_headers(version_header(row.major, row.minor, row.patch));
    root.add_library("libtorch_cpu.so");
    root.add_library("libc10.so");
    const std::string found = row.found;
    CHECK(root.problem(row.package) == (found.empty() ? "" : "libtorch-dev 1.13.1 is not installed; found " + found));
  }
}

TEST_CASE("missing headers and missing libraries are told apart", "[provision]") {
  FakeRoot root;
  CHECK_THAT(root.problem("1.13.1"),
             Catch::Matchers::StartsWith("libtorch-dev 1.13.1 is not installed; no torch/version.h in "));
  root.add_headers(version_header(1, 13, 1));
  root.add_library("libtorch_cpu.so");
  CHECK(root.problem("1.13.1") ==
        "libtorch-dev 1.13.1 is not installed; its headers are there, but no libc10.so in " + root.path("lib"));
  FakeRoot without_cpu;
  without_cpu.add_headers(version_header(1, 13, 1));
  without_cpu.add_library("libc10.so");
  CHECK_THAT(without_cpu.problem("1.13.1"), ContainsSubstring("but no libtorch_cpu.so in "));
}

TEST_CASE("dpkg-query is asked for an installed package's version, and knows when there is none", "[provision]") {
  CHECK(installed_package_version("no-such-package-at-all").empty());
  const TemporaryFolder folder;
  const auto answers = [&](const std::string& body) {
    write_file(folder.path / "dpkg-query", "#!/bin/sh\n" + body);
    std::filesystem::permissions(folder.path / "dpkg-query", std::filesystem::perms::owner_all);
    const TemporaryVariable path("PATH", folder.path.string());
    return installed_package_version("libtorch-dev");
  };
  CHECK(answers("printf 'installed %s' \"$1$2$3\"") == "--show--showformat=${db:Status-Status} ${Version}libtorch-dev");
  CHECK(answers("printf 'config-files 1.13'").empty());
  CHECK(answers("printf 'installed 1.13'; exit 1").empty());
  if (std::filesystem::exists("/usr/bin/dpkg-query")) CHECK_FALSE(installed_package_version("dpkg").empty());
}

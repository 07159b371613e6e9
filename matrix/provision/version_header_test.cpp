#include "matrix/provision/version_header.hpp"

#include "ci/catch.hpp"
#include "matrix/provision/provision_fixture.hpp"

using namespace reprobench;
using namespace reprobench::test;

TEST_CASE("a version is put together of what a header defines, in the order asked for", "[provision]") {
  const TemporaryFolder folder;
  const auto header = folder.path / "v.h";
  write_file(header,
             "#pragma once\n#define  MINOR\t2 // x\n#undef PATCH 9\n#define MAJOR 1\nMAJOR 7\n#define MAJORS 8\n"
             "#define EMPTY\n#define PATCH 3\n#undef MAJOR 4\n");
  CHECK(defined_version(header, {"MAJOR", "MINOR", "PATCH"}) == "1.2.3");
  CHECK(defined_version(header, {"PATCH", "MAJOR"}) == "3.1");
  CHECK(defined_version(header, {"MAJOR"}) == "1");
  CHECK(defined_version(header, {"MAJOR", "EMPTY"}).empty());
  CHECK(defined_version(header, {"EMPTY", "MAJOR"}).empty());
  CHECK(defined_version(folder.path / "none.h", {"MAJOR"}).empty());
}

TEST_CASE("torch's header is looked for in each folder in turn, under its three names", "[provision]") {
  const TemporaryFolder folder;
  const auto add = [&](const std::string& path, int minor) {
    write_file(folder.path / path, fmt::format("#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR {}\n#define "
                                               "TORCH_VERSION_PATCH 0\n",
                                               minor));
  };
  const std::vector<std::string> folders = {(folder.path / "a").string(), (folder.path / "b").string()};
  CHECK(torch_header_version(folders).empty());
  add("b/torch/version.h", 1);
  CHECK(torch_header_version(folders) == "2.1.0");
  add("a/torch/csrc/api/include/torch/version.h", 2);
  CHECK(torch_header_version(folders) == "2.2.0");
  add("a/torch/headeronly/version.h", 3);
  CHECK(torch_header_version(folders) == "2.3.0");
  add("a/torch/version.h", 4);
  CHECK(torch_header_version(folders) == "2.4.0");
}

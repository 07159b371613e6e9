#include "matrix/base/elf_library.hpp"

#include <cstdlib>
#include <fstream>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"

using namespace reprobench;

namespace {

// A shared library without content, as the linker makes it.
void link_library(const std::filesystem::path& path, const std::string& options) {
  const std::string command = "c++ -shared -nostdlib -x c /dev/null -x none -o '" + path.string() + "' " + options;
  REQUIRE(std::system(command.c_str()) == 0);
}

}  // namespace

TEST_CASE("a library's build id, names and search folders are read from its file", "[contract]") {
  const TemporaryFolder place;
  const std::filesystem::path folder = place.path;
  link_library(folder / "libneeded.so", "-Wl,-soname,libneeded.so.3");
  const std::string needs = "-Wl,--no-as-needed '" + (folder / "libneeded.so").string() + "'";
  link_library(folder / "liba.so",
               "-Wl,-soname,liba.so.1 -Wl,--build-id=0x0123abcd -Wl,--disable-new-dtags "
               "'-Wl,-rpath,$ORIGIN/../nvidia/lib:/opt/lib' " +
                   needs);
  link_library(folder / "libb.so", "-Wl,--build-id=none -Wl,--enable-new-dtags '-Wl,-rpath,${ORIGIN}'");

  const auto a = read_elf_library(folder / "liba.so");
  REQUIRE(a);
  CHECK(a->is_x86_64);
  CHECK(a->build_id == "0123abcd");
  CHECK(a->soname == "liba.so.1");
  CHECK(a->needed == std::vector<std::string>{"libneeded.so.3"});
  CHECK(a->rpath == std::vector<std::string>{(folder.parent_path() / "nvidia/lib").string(), "/opt/lib"});
  CHECK(a->runpath.empty());

  const auto b = read_elf_library(folder / "libb.so");
  REQUIRE(b);
  CHECK(b->build_id.empty());
  CHECK(b->soname.empty());
  CHECK(b->rpath.empty());
  CHECK(b->runpath == std::vector<std::string>{folder.string()});
  std::filesystem::remove_all(folder);
}

TEST_CASE("what is no library, or only the beginning of one, is none", "[contract]") {
  const TemporaryFolder place;
  const std::filesystem::path folder = place.path;
  std::ofstream(folder / "text.so") << "not an object";
  CHECK_FALSE(read_elf_library(folder / "text.so"));
  CHECK_FALSE(read_elf_library(folder / "absent.so"));
  CHECK_FALSE(read_elf_library(folder));
  link_library(folder / "whole.so", "-Wl,--build-id=0x01");
  REQUIRE(read_elf_library(folder / "whole.so"));
  std::filesystem::resize_file(folder / "whole.so", 200);
  CHECK_FALSE(read_elf_library(folder / "whole.so"));
  std::filesystem::remove_all(folder);
}

#include "matrix/provision/torch_release.hpp"

#include "ci/catch.hpp"
#include "matrix/provision/environment_fixture.hpp"

using namespace reprobench;
using namespace reprobench::test;

namespace {

// A folder of a PyTorch with these files, by their path in it.
TorchRelease release_of(const std::map<std::string, std::string>& files) {
  const TemporaryFolder folder;
  for (const auto& [path, text] : files) write_file(folder.path / path, text);
  TorchPlace place;
  place.lib = (folder.path / "lib").string();
  place.include = (folder.path / "include").string();
  return read_torch_release(place);
}

std::string header_of(int major, int minor, int patch) {
  return fmt::format("#define TORCH_VERSION_MAJOR {}\n#define TORCH_VERSION_MINOR {}\n#define TORCH_VERSION_PATCH {}\n",
                     major, minor, patch);
}

}  // namespace

TEST_CASE("a PyTorch says its version and CUDA in Python, however it is written there", "[provision]") {
  const auto [text, declared, cuda] = GENERATE(table<std::string, std::string, std::string>({
      {"__version__ = '2.7.1+cu128'\ncuda: Optional[str] = '12.8'\n", "2.7.1+cu128", "12.8"},
      {"__version__ = \"2.1.0\"\ncuda = \"12.1\" # x\n", "2.1.0", "12.1"},
      {"__version__='2.5.1+cu124'\ncuda: Optional[str] = None\n", "2.5.1+cu124", "12.4"},
      {"__version__ = '2.5.1+cpu'\ncuda = None\n", "2.5.1+cpu", ""},
      {"__version__ = '1.8.0+cu92'\n", "1.8.0+cu92", ""},
      {"__version__long = 'no'\ncuda_other = '1.1'\n __version__ = 'no'\n__version__: str = '2.6.0'\ncuda: str = "
       "'13.0'\n",
       "2.6.0", "13.0"},
  }));
  const TorchRelease release = release_of({{"version.py", text}, {"build-version", "9.9.9"}});
  CHECK(release.declared == declared);
  CHECK(release.cuda == cuda);
  CHECK(release.compiled.empty());
}

TEST_CASE("a LibTorch archive says its version in a file, a package of a distribution in its headers alone",
          "[provision]") {
  const TorchRelease archive =
      release_of({{"build-version", "2.1.0+cu121\nsecond\n"}, {"include/torch/version.h", header_of(2, 1, 1)}});
  CHECK(archive.declared == "2.1.0+cu121");
  CHECK(archive.cuda == "12.1");
  CHECK(archive.compiled == "2.1.1");
  const TorchRelease package = release_of({{"include/torch/csrc/api/include/torch/version.h", header_of(1, 13, 0)}});
  CHECK(package.declared == "1.13.0");
  CHECK(package.compiled == "1.13.0");
  CHECK(package.cuda.empty());
  CHECK(package.cxx_standard == 14);
}

TEST_CASE("the oldest C++ that headers accept is by release", "[provision]") {
  const auto [version, standard] = GENERATE(table<std::string, int>({{"1.13.1", 14},
                                                                     {"2.0.1", 14},
                                                                     {"2.1.0", 17},
                                                                     {"2.9.0+cu128", 17},
                                                                     {"2.12.1", 17},
                                                                     {"2.13.0", 20},
                                                                     {"2.15.0+cu132", 20},
                                                                     {"3.0.0", 20}}));
  CHECK(release_of({{"build-version", version}}).cxx_standard == standard);
}

TEST_CASE("the C++ ABI is told by a function of libc10, not by a name beside it", "[provision]") {
  const auto abi_of = [](std::initializer_list<std::string> names) {
    std::string bytes(1, '\0');
    for (const std::string& name : names) bytes += name + std::string(1, '\0');
    return release_of({{"lib/libc10.so", bytes}}).cxx11_abi;
  };
  const std::string with_new = "_ZN3c104warnERKNSt7__cxx1112basic_stringIcE";
  const std::string with_old = "_ZN3c104warnERKSs";
  CHECK(abi_of({with_new}) == 1);
  CHECK(abi_of({with_old}) == 0);
  CHECK(abi_of({with_old, with_new}) == 1);
  CHECK(abi_of({with_old, "_ZNSt7__cxx1112basic_stringIcE"}) == 0);
  CHECK(abi_of({}) == 0);
}

TEST_CASE("versions are cut at their local part, or after so many numbers", "[provision]") {
  CHECK(without_local_part("2.9.0+cu128") == "2.9.0");
  CHECK(without_local_part("2.9.0") == "2.9.0");
  CHECK(leading_numbers("9.10.2.21", 3) == "9.10.2");
  CHECK(leading_numbers("9.10.2.21", 1) == "9");
  CHECK(leading_numbers("9.10.2.21", 4) == "9.10.2.21");
  CHECK(leading_numbers("9.10", 3) == "9.10");
  CHECK(leading_numbers("9", 2) == "9");
}

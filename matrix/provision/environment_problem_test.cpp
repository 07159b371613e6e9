// What packages and a Python tell of a PyTorch, one disagreement at a time.
#include "matrix/provision/environment_problem.hpp"

#include "ci/catch.hpp"
#include "matrix/provision/environment_fixture.hpp"

using namespace reprobench;
using namespace reprobench::test;

namespace {

std::string lines_of(const std::vector<EnvironmentProblem>& problems) {
  std::string text;
  for (const EnvironmentProblem& problem : problems) text += (problem.is_fatal ? "FAIL " : "") + problem.text + "\n";
  return text;
}

InstalledPackage torch_package(const std::string& version = "2.9.0") {
  return {"torch", version, {"nvidia-cudnn-cu12==9.10.2", "nvidia-nccl-cu12==2.27.5; x"}};
}

// Of an environment in /env, whose torch/version.py says 2.9.0+cu128.
std::string package_problems(const std::vector<InstalledPackage>& packages) {
  TorchPlace place;
  place.site = "/env/site";
  TorchRelease release;
  release.declared = "2.9.0+cu128";
  return lines_of(find_package_problems(packages, place, release));
}

// Of a PyTorch with extensions of these tags, found by Python 3.12 in `prefix` (empty: above it).
std::string python_problems(const std::vector<std::string>& tags, const std::string& python = "3.12",
                            const std::string& prefix = "") {
  const TemporaryFolder folder;
  TorchPlace place;
  place.site = (folder.path / "site").string();
  place.python = python;
  place.prefix = prefix.empty() ? folder.path.string() : prefix;
  write_file(folder.path / "site/torch/_Cother.so", "");
  for (const std::string& tag : tags) write_file(folder.path / "site/torch" / ("_C.cpython-" + tag), "");
  std::string text = lines_of(find_python_problems(place));
  for (std::size_t at = 0; (at = text.find(folder.path.string())) != std::string::npos;) {
    text.replace(at, folder.path.string().size(), "/env");
  }
  return text;
}

}  // namespace

TEST_CASE("packages that agree are no problem, nor is a PyTorch without metadata", "[provision]") {
  CHECK(package_problems({torch_package()}).empty());
  CHECK(package_problems({torch_package("2.9.0+cu128"), {"nvidia-cudnn-cu12", "9.10.2", {}}}).empty());
  CHECK(package_problems({}).empty());
}

TEST_CASE("two PyTorch, or another one than the metadata names, cannot be adopted", "[provision]") {
  CHECK(package_problems({torch_package(), torch_package("2.8.0")}) ==
        "FAIL its metadata names PyTorch 2.9.0 and 2.8.0: one was installed over the other; uninstall torch until pip "
        "finds none, then install one\n");
  CHECK(package_problems({torch_package("2.8.0")}) ==
        "FAIL its metadata names PyTorch 2.8.0, torch/version.py 2.9.0+cu128; pip install --force-reinstall --no-deps "
        "torch==2.8.0\n");
}

TEST_CASE("packages that overwrite each other are named with the one that torch asks for", "[provision]") {
  CHECK(package_problems({{"nvidia-cudnn-cu12", "9.10.2", {}}, {"nvidia-cudnn-cu13", "9.11", {}}, torch_package()}) ==
        "FAIL nvidia-cudnn-cu12 9.10.2 and nvidia-cudnn-cu13 9.11 are unpacked into one folder and have overwritten "
        "each other; uninstall all of them, then install the one that torch asks for: nvidia-cudnn-cu12==9.10.2\n");
  const std::string beginning = GENERATE("nvidia-nccl-", "nvidia-nvshmem-", "nvidia-cusparselt-");
  CHECK_THAT(package_problems({{beginning + "cu12", "1", {}}, {beginning + "cu13", "2", {}}}),
             Catch::Matchers::StartsWith("FAIL " + beginning + "cu12 1 and " + beginning + "cu13 2 are unpacked"));
  CHECK(package_problems({{"nvidia-cublas-cu12", "1", {}}, {"nvidia-cublas-cu13", "2", {}}}).empty());
}

TEST_CASE("a package of another version than torch asks for is said, and can be adopted", "[provision]") {
  CHECK(package_problems({{"nvidia-nccl-cu12", "2.28.0", {}}, torch_package()}) ==
        "nvidia-nccl-cu12 2.28.0 is installed, and torch asks for nvidia-nccl-cu12==2.27.5\n");
  CHECK(package_problems({{"nvidia-nccl-cu12", "2.27.5", {}}, torch_package()}).empty());
  CHECK(package_problems({{"nvidia-nvtx-cu12", "1", {}}, torch_package()}).empty());
}

TEST_CASE("a PyTorch is for the Python that found it, if for one at all", "[provision]") {
  CHECK(python_problems({"312-x86_64-linux-gnu.so"}).empty());
  CHECK(python_problems({"311-x86_64-linux-gnu.so", "312-x86_64-linux-gnu.so"}).empty());
  CHECK(python_problems({"312-x86_64-linux-gnu.so", "311-x86_64-linux-gnu.so"}).empty());
  CHECK(python_problems({}).empty());
  CHECK(python_problems({"311-x86_64-linux-gnu.so"}) ==
        "FAIL this is a PyTorch for CPython 311, found by Python 3.12; PYTHONPATH or a copied folder leads one Python "
        "to the packages of another; name the Python it was installed for, or --libtorch /env/site/torch\n");
  CHECK(python_problems({"311-x86_64-linux-gnu.so"}, "").empty());  // nobody asked
}

TEST_CASE("a PyTorch from outside the environment of its Python is said", "[provision]") {
  CHECK(python_problems({}, "3.12", "/usr") ==
        "the PyTorch that this Python finds lies outside its environment /usr, in /env/site\n");
  CHECK(find_python_problems(TorchPlace{"", "/opt/lib", "", "3.12", "/usr"}).empty());
}

TEST_CASE("a PyTorch is installed again by pip where pip installed it", "[provision]") {
  TorchPlace place;
  CHECK(reinstallation(place, "2.9.0+cu128") == "unpack LibTorch again, into an empty folder");
  place.site = "/env/site";
  CHECK(reinstallation(place, "2.9.0+cu128") == "pip install --force-reinstall --no-deps torch==2.9.0");
  CHECK(fatal_problem("a", "b").is_fatal);
  CHECK(fatal_problem("a", "b").text == "a; b");
}

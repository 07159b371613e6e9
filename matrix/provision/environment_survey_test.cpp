#include "matrix/provision/environment_survey.hpp"

#include "ci/catch.hpp"
#include "matrix/provision/cuda_headers.hpp"
#include "matrix/provision/environment_fixture.hpp"
#include "matrix/provision/torch_release.hpp"

using namespace reprobench;
using namespace reprobench::test;
using Catch::Matchers::Equals;
using Catch::Matchers::StartsWith;

namespace {

// No toolkit of this machine completes what a test has taken away.
class NoToolkit {
 public:
  NoToolkit() : home_("CUDA_HOME", std::nullopt), path_("PATH", "/usr/bin:/bin") {}

 private:
  TemporaryVariable home_, path_;
};

}  // namespace

TEST_CASE("an environment is read with its versions, folders and every library it would load", "[provision]") {
  const FakeEnvironment environment;
  const EnvironmentSurvey survey = environment.survey(true);
  CHECK(survey.problems.empty());
  CHECK(survey.components ==
        std::map<std::string, std::string>{{"torch", "9.8.7+cu128"}, {"cuda", "12.8"}, {"cudnn", "9.10.2"}});
  CHECK(survey.cxx11_abi == 1);
  CHECK(survey.cxx_standard == 20);
  std::vector<std::string> names;
  for (const FoundLibrary& library : survey.loaded) names.push_back(library.name);
  CHECK(names == std::vector<std::string>{"libtorch_cpu.so", "libc10.so", "libcudart.so.12", "libtorch_cuda.so",
                                          "libcudnn_ops.so.9", "libcudnn.so.9"});
  CHECK(survey.libraries.at("libcudart.so.12") == "000c");
  CHECK(survey.library_dirs == std::vector<std::string>{environment.torch() / "lib",
                                                        environment.nvidia() / "cuda_runtime/lib",
                                                        environment.nvidia() / "cudnn/lib"});
  CHECK(survey.include_dirs == std::vector<std::string>{environment.torch() / "include",
                                                        environment.torch() / "include/torch/csrc/api/include",
                                                        environment.nvidia() / "cuda_runtime/include"});
}

TEST_CASE("the host's driver is no part of an environment, and no lack of it", "[provision]") {
  const FakeEnvironment environment;
  const TemporaryFolder driver;
  link_library(driver.path / "libcuda.so.1", {"libcuda.so.1"});
  const EnvironmentSurvey survey = environment.survey(true, {driver.path.string()});
  CHECK(survey.problems.empty());
  CHECK(survey.libraries == environment.survey(true).libraries);
}

TEST_CASE("what no package names has the version that its header defines, if it is loaded", "[provision]") {
  const FakeEnvironment environment;
  const auto header = [&](const char* file, const char* prefix, const char* last) {
    write_file(environment.nvidia() / "cuda_runtime/include" / file,
               fmt::format("#define {0}_MAJOR 7\n#define {0}_MINOR 6\n#define {0}_{1} 5\n", prefix, last));
  };
  header("cudnn_version.h", "CUDNN", "PATCHLEVEL");
  header("nccl.h", "NCCL", "PATCH");
  CHECK(environment.survey(true).components.at("cudnn") == "9.10.2");  // its package's
  CHECK_FALSE(environment.survey(true).components.contains("nccl"));   // nothing loads it
  std::filesystem::remove_all(environment.site() / "nvidia_cudnn_cu12-9.10.2.21.dist-info");
  CHECK(environment.survey(true).components.at("cudnn") == "7.6.5");
  link_library(environment.nvidia() / "cudnn/lib/libnccl.so.2", {"libnccl.so.2"});
  link_library(environment.nvidia() / "cudnn/lib/libcudnn.so.9", {"libcudnn.so.9", {"libnccl.so.2"}, "$ORIGIN"});
  CHECK(environment.survey(true).components.at("nccl") == "7.6.5");
  environment.add_metadata("nvidia-nccl-cu12", "2.27.3.1");
  CHECK(environment.survey(true).components.at("nccl") == "2.27.3");
}

TEST_CASE("the C++ ABI is that of the functions libc10 exports", "[provision]") {
  const FakeEnvironment environment;
  CHECK(read_torch_release(environment.place()).cxx11_abi == 1);
  link_library(environment.torch() / "lib/libc10.so", {"libc10.so"}, (environment.root() / "c10.cpp").string(),
               "-D_GLIBCXX_USE_CXX11_ABI=0");
  CHECK(read_torch_release(environment.place()).cxx11_abi == 0);
}

TEST_CASE("releases before 2.1 and before 2.13 accept older C++", "[provision]") {
  const FakeEnvironment environment;
  const auto standard = [&](const std::string& version) {
    write_file(environment.torch() / "version.py", "__version__ = '" + version + "'\ncuda = None\n");
    return read_torch_release(environment.place()).cxx_standard;
  };
  CHECK(standard("1.13.1") == 14);
  CHECK(standard("2.0.1") == 14);
  CHECK(standard("2.1.0+cu121") == 17);
  CHECK(standard("2.12.0") == 17);
  CHECK(standard("2.13.0") == 20);
}

TEST_CASE("a build without CUDA is said, and refused where a GPU is to be used", "[provision]") {
  const FakeEnvironment environment;
  std::filesystem::remove(environment.torch() / "lib/libtorch_cuda.so");
  write_file(environment.torch() / "version.py", "__version__ = '9.8.7+cpu'\ncuda = None\n");
  const std::string what =
      "this PyTorch is built without CUDA: cells for a GPU cannot run on it; install its build for CUDA, a "
      "version that ends in +cuNNN\n";
  CHECK(environment.problems(false) == what);
  CHECK(environment.problems(true) == "FAIL " + what);
  CHECK(environment.survey().components == std::map<std::string, std::string>{{"torch", "9.8.7+cpu"}});
}

TEST_CASE("a CUDA part that lacks a library leaves the CPU part, and names the package that has it", "[provision]") {
  const FakeEnvironment environment;
  std::filesystem::remove(environment.nvidia() / "cudnn/lib/libcudnn.so.9");
  const std::string what =
      "its CUDA part cannot be loaded: libcudnn.so.9 not found; pip install nvidia-cudnn-cu12==9.10.2.21\n";
  CHECK(environment.problems(false) == what);
  CHECK(environment.problems(true) == "FAIL " + what);
  const EnvironmentSurvey survey = environment.survey();
  CHECK(survey.components.count("cuda") == 0);
  CHECK(survey.libraries.count("libtorch_cuda.so") == 0);
  CHECK(survey.libraries.count("libtorch_cpu.so") == 1);
}

TEST_CASE("a CPU part that lacks a library is refused", "[provision]") {
  const FakeEnvironment environment;
  std::filesystem::remove(environment.nvidia() / "cuda_runtime/lib/libcudart.so.12");
  CHECK_THAT(environment.problems(),
             StartsWith("FAIL libcudart.so.12 is nowhere, and libtorch_cpu.so needs it; pip install "
                        "nvidia-cuda-runtime-cu12==12.8.90\n"));
}

TEST_CASE("a part that only another PyTorch has is refused", "[provision]") {
  const FakeEnvironment environment;
  const TemporaryFolder host;
  std::filesystem::rename(environment.torch() / "lib/libc10.so", host.path / "libc10.so");
  CHECK_THAT(environment.problems(false, {host.path.string()}),
             StartsWith("FAIL libc10.so would be taken from another PyTorch, " + (host.path / "libc10.so").string() +
                        "; pip install --force-reinstall --no-deps torch==9.8.7\n"));
}

TEST_CASE("headers that were deleted, or are another release's, are refused", "[provision]") {
  const FakeEnvironment environment;
  FakeEnvironment::write_torch_header(environment.torch(), 9, 8, 6);
  CHECK(environment.problems() ==
        "FAIL its headers are those of PyTorch 9.8.6, and it says it is 9.8.7+cu128; pip install "
        "--force-reinstall --no-deps torch==9.8.7\n");
  std::filesystem::remove_all(environment.torch() / "include");
  CHECK(environment.problems() == "FAIL the C++ headers of PyTorch are missing: no torch/version.h in " +
                                      (environment.torch() / "include").string() +
                                      "; pip install --force-reinstall --no-deps torch==9.8.7\n");
}

TEST_CASE("one PyTorch installed over another is refused", "[provision]") {
  const FakeEnvironment environment;
  environment.add_metadata("torch", "9.9.0");
  CHECK_THAT(environment.problems(),
             StartsWith("FAIL its metadata names PyTorch 9.8.7 and 9.9.0: one was installed over the other; "));
  std::filesystem::remove_all(environment.site() / "torch-9.8.7.dist-info");
  CHECK_THAT(environment.problems(),
             StartsWith("FAIL its metadata names PyTorch 9.9.0, torch/version.py 9.8.7+cu128; "));
}

TEST_CASE("a PyTorch of another Python is refused for this one, and can be adopted by its folder", "[provision]") {
  const FakeEnvironment environment;
  TorchPlace place = environment.place();
  place.prefix = environment.root().string();
  place.python = "3.12";
  CHECK(survey_environment(place, {}, false).problems.empty());
  place.python = "3.11";
  const EnvironmentSurvey survey = survey_environment(place, {}, false);
  REQUIRE(survey.problems.size() == 1);
  CHECK(survey.problems[0].is_fatal);
  CHECK_THAT(survey.problems[0].text,
             StartsWith("this is a PyTorch for CPython 312, found by Python 3.11; PYTHONPATH or ") &&
                 Catch::Matchers::EndsWith("--libtorch " + environment.torch().string()));
}

TEST_CASE("a PyTorch from outside the environment of the Python that found it is said", "[provision]") {
  const FakeEnvironment environment;
  TorchPlace place = environment.place();
  place.python = "3.12";
  place.prefix = "/opt/venv";
  const EnvironmentSurvey survey = survey_environment(place, {}, false);
  REQUIRE(survey.problems.size() == 1);
  CHECK_FALSE(survey.problems[0].is_fatal);
  CHECK_THAT(survey.problems[0].text,
             StartsWith("the PyTorch that this Python finds lies outside its environment /opt/venv"));
}

TEST_CASE("two packages of cuDNN in one folder are refused, however whole it looks", "[provision]") {
  const FakeEnvironment environment;
  environment.add_metadata("nvidia-cudnn-cu13", "9.19.0.56");
  CHECK(environment.problems() ==
        "FAIL nvidia-cudnn-cu12 9.10.2.21 and nvidia-cudnn-cu13 9.19.0.56 are unpacked into one folder and have "
        "overwritten each "
        "other; uninstall all of them, then install the one that torch asks for: nvidia-cudnn-cu12==9.10.2.21\n");
}

TEST_CASE("two different cuDNN are refused in the environment, and said where the other is the host's", "[provision]") {
  const FakeEnvironment environment;
  const LinkedLibrary other{"libcudnn.so.9", {}, "", false, "0x0002"};
  const TemporaryFolder host;
  link_library(host.path / "libcudnn.so.9", other);
  CHECK(environment.problems(false, {host.path.string()}) ==
        host.path.string() + " has other copies of libcudnn.so.9, which are not the ones loaded\n");
  link_library(environment.torch() / "lib/libcudnn.so.9", other);
  CHECK_THAT(environment.problems(), StartsWith("FAIL there are two different libcudnn.so.9: " +
                                                (environment.nvidia() / "cudnn/lib/libcudnn.so.9").string()));
}

TEST_CASE("a library that the host gives in place of the environment is said", "[provision]") {
  const FakeEnvironment environment;
  const TemporaryFolder host;
  std::filesystem::rename(environment.nvidia() / "cudnn/lib/libcudnn.so.9", host.path / "libcudnn.so.9");
  CHECK(environment.problems(true, {host.path.string()}) ==
        "the environment lacks libraries that the host would give: " + (host.path / "libcudnn.so.9").string() + "\n");
}

TEST_CASE("another version of a package than torch asks for is said", "[provision]") {
  const FakeEnvironment environment;
  std::filesystem::remove_all(environment.site() / "nvidia_cudnn_cu12-9.10.2.21.dist-info");
  environment.add_metadata("nvidia-cudnn-cu12", "9.13.0.50");
  CHECK(environment.problems() ==
        "nvidia-cudnn-cu12 9.13.0.50 is installed, and torch asks for nvidia-cudnn-cu12==9.10.2.21\n");
  CHECK(environment.survey(true).components.at("cudnn") == "9.13.0");
}

TEST_CASE("a library that was cut off is refused by name", "[provision]") {
  const FakeEnvironment environment;
  const std::string path = (environment.torch() / "lib/libtorch_cpu.so").string();
  std::filesystem::resize_file(path, 100);
  CHECK_THAT(environment.problems(),
             StartsWith("FAIL " + path + " is no library for x86-64: cut off, or of another architecture; "));
}

TEST_CASE("libraries beside another C library are not mixed with this host's", "[provision]") {
  const FakeEnvironment environment;
  write_file(environment.torch() / "lib/libc.so.6", "");
  CHECK_THAT(environment.problems(),
             StartsWith("FAIL " + (environment.torch() / "lib").string() + " holds a C library too"));
  CHECK(environment.problems(false, {(environment.torch() / "lib").string()}).empty());
}

TEST_CASE("CUDA headers come from the environment, completed by a toolkit of the same CUDA alone", "[provision]") {
  const NoToolkit none;
  const FakeEnvironment environment;
  const std::string own = (environment.nvidia() / "cuda_runtime/include").string();
  CHECK(find_cuda_headers(environment.site(), "12.8", {}).folders == std::vector<std::string>{own});
  std::filesystem::remove(environment.nvidia() / "cuda_runtime/include/crt/host_defines.h");
  std::filesystem::remove(environment.nvidia() / "cuda_runtime/include/nv/target");

  const TemporaryFolder toolkit;
  const std::string include = (toolkit.path / "include").string();
  write_file(include + "/cuda_runtime_api.h", "#define CUDART_VERSION  13000\n");
  write_file(include + "/crt/host_defines.h", "");
  write_file(include + "/cccl/nv/target", "");
  CudaHeaders headers = find_cuda_headers(environment.site(), "12.8", {toolkit.path.string()});
  CHECK(headers.missing == std::vector<std::string>{"crt/host_defines.h", "nv/target"});
  CHECK(headers.folders.empty());
  CHECK(headers.problem == "headers of CUDA 12.8 are missing: crt/host_defines.h, nv/target; the toolkit at " +
                               toolkit.path.string() + " is CUDA 13.0");
  CHECK(headers.remedy ==
        "install nvidia-cuda-crt (of CUDA 12: nvidia-cuda-nvcc-cu12), nvidia-cuda-cccl, or set CUDA_HOME to a "
        "toolkit of CUDA 12.8");
  write_file(include + "/cuda_runtime_api.h", "#define CUDART_VERSION  12080\n");
  headers = find_cuda_headers(environment.site(), "12.8", {toolkit.path.string()});
  CHECK(headers.folders == std::vector<std::string>{own, include, include + "/cccl"});

  write_file(own + "/cuda_runtime_api.h", "#define CUDART_VERSION  12060\n");
  headers = find_cuda_headers(environment.site(), "12.8", {toolkit.path.string()});
  CHECK(headers.folders.empty());
  CHECK(headers.problem == "its CUDA headers are those of 12.6, and it was built for 12.8");
}

TEST_CASE("headers that come from elsewhere are not missing, and none come from the folder where one stands",
          "[provision]") {
  const FakeEnvironment environment;
  const std::string own = (environment.nvidia() / "cuda_runtime/include").string();
  std::filesystem::remove(environment.nvidia() / "cuda_runtime/include/nv/target");
  CHECK(find_cuda_headers(environment.site(), "12.8", {}, {"nv/target"}).folders == std::vector<std::string>{own});
  CHECK(find_cuda_headers(environment.site(), "12.8", {}, {"cublas_v2.h"}).missing ==
        std::vector<std::string>{"nv/target"});
  CHECK(cuda_headers_in({own}) == std::vector<std::string>{"cuda_runtime_api.h", "crt/host_defines.h", "cublas_v2.h",
                                                           "cusparse.h", "cusolverDn.h"});
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(environment.site());
  const CudaHeaders none = find_cuda_headers("", "12.8", {});
  std::filesystem::current_path(before);
  CHECK(none.folders.empty());
  CHECK(none.missing.size() == 6);
}

TEST_CASE("the same environment at another place has the same identity, a changed one another", "[provision]") {
  const FakeEnvironment one, two;
  const auto identity = [](const FakeEnvironment& environment) {
    const EnvironmentSurvey survey = environment.survey();
    return identity_of(survey.components, survey.libraries);
  };
  CHECK(identity(one) == identity(two));
  link_library(two.nvidia() / "cuda_runtime/lib/libcudart.so.12", {"libcudart.so.12", {}, "", false, "0x000d"});
  CHECK(identity(one) != identity(two));
}

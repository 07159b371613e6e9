#include "matrix/provision/package_metadata.hpp"

#include "ci/catch.hpp"
#include "matrix/provision/provision_fixture.hpp"

using namespace reprobench;
using namespace reprobench::test;

namespace {

const std::vector<InstalledPackage> kTorchAlone = {
    {"nvidia-other", "1", {"nvidia-cudnn==7"}},
    {"torch",
     "2.9.0",
     {"filelock", "nvidia-cudnn-cu12 (>=9)", "nvidia-cudnn-cu12==9.10.2.21; platform_system == \"Linux\"",
      "nvidia-cuda-runtime-cu12==12.8.90 ; extra", "nvidia-cusparselt-cu12==0.7.1",
      "nvidia-cusparse-cu12==12.5.8.93"}}};

}  // namespace

TEST_CASE("packages of torch and NVIDIA are read by name and version, up to the end of their header", "[provision]") {
  const TemporaryFolder site;
  const auto add = [&](const std::string& folder, const std::string& text) {
    write_file(site.path / folder / "METADATA", text);
  };
  add("torch-2.9.0.dist-info",
      "Metadata-Version: 2.1\r\nName: Torch\r\nVersion: 2.9.0\r\n"
      "Requires-Dist: a==1\r\nRequires-Dist: b==2; x\r\n\r\nName: other\r\nVersion: 0\r\n");
  add("nvidia_cudnn_cu12-9.10.2.dist-info", "Name: NVIDIA_cudnn.CU12Z\nVersion: 9.10.2\nNames: no\n");
  add("nvidia_cudnn_cu12-9.8.0.dist-info", "Version: 9.8.0\nName: nvidia-cudnn-cu12z\n\nVersion: 1\n");
  add("nvidia_nameless-1.dist-info", "Version: 1\n");
  add("numpy-1.dist-info", "Name: numpy\nVersion: 1\n");
  add("torchvision-1.dist-info", "Name: torchvision\nVersion: 1\n");
  add("torch-2.9.0.data", "Name: torch\nVersion: 3\n");
  const auto packages = read_package_metadata(site.path);
  REQUIRE(packages.size() == 3);
  CHECK(packages[0].name == "nvidia-cudnn-cu12z");
  CHECK(packages[0].version == "9.10.2");
  CHECK(packages[1].version == "9.8.0");
  CHECK(packages[2].name == "torch");
  CHECK(packages[2].version == "2.9.0");
  CHECK(packages[2].requirements == std::vector<std::string>{"a==1", "b==2; x"});
  CHECK(read_package_metadata(site.path / "nowhere").empty());
}

TEST_CASE("what torch pins is told without its conditions, what it only bounds is not", "[provision]") {
  CHECK(torch_pin(kTorchAlone, "cudnn") == "nvidia-cudnn-cu12==9.10.2.21");
  CHECK(torch_pin(kTorchAlone, "cuda-runtime") == "nvidia-cuda-runtime-cu12==12.8.90");
  CHECK(torch_pin(kTorchAlone, "filelock").empty());
  CHECK(torch_pin(kTorchAlone, "nccl").empty());
  CHECK(torch_pin({kTorchAlone[0]}, "cudnn").empty());
}

TEST_CASE("a requirement pins one version on this kind of host, or nothing", "[provision]") {
  const auto pinned = [](const std::string& requirement) {
    const auto pin = exact_pin(requirement);
    return pin ? pin->name + " " + pin->version : "";
  };
  CHECK(pinned("torch==2.9.0") == "torch 2.9.0");
  CHECK(pinned("torch (==2.1.0)") == "torch 2.1.0");
  CHECK(pinned("Torch == 2.1.0 ; platform_system == 'Linux'") == "torch 2.1.0");
  CHECK(pinned("nvidia_cudnn.cu12==9.10.2.21; platform_system == \"Linux\" and platform_machine == \"x86_64\"") ==
        "nvidia-cudnn-cu12 9.10.2.21");
  CHECK(pinned("cuda-toolkit[cublas,cudart]==13.0.2").empty());  // a comma may also stand between two bounds
  CHECK(pinned("cuda-toolkit[cublas]==13.0.2; sys_platform == \"linux\"") == "cuda-toolkit 13.0.2");
  for (const char* none : {"torch", "torch>=2.9", "torch!=2.9.0", "torch~=2.9.0", "torch==2.9.*", "torch===2.9.0",
                           "torch==2.9.0,>2", "torch==", "torch==2.9.0; extra == \"all\"",
                           "torch==2.9.0; platform_system == \"Windows\"", "torch==2.9.0; python_version < \"3.9\"",
                           "torch==2.9.0; platform_system == \"Linux\" and extra == \"all\"", ""}) {
    CAPTURE(none);
    CHECK(pinned(none).empty());
  }
}

TEST_CASE("a library is brought by the package of its name, the longer name first", "[provision]") {
  CHECK(pin_of_library(kTorchAlone, "libcudart.so.12") == "nvidia-cuda-runtime-cu12==12.8.90");
  CHECK(pin_of_library(kTorchAlone, "libcusparseLt.so.0") == "nvidia-cusparselt-cu12==0.7.1");
  CHECK(pin_of_library(kTorchAlone, "libcusparse.so.12") == "nvidia-cusparse-cu12==12.5.8.93");
  CHECK(pin_of_library(kTorchAlone, "libgomp.so.1").empty());
  const auto [library, package] = GENERATE(table<std::string, std::string>({
      {"libcupti.so.12", "nvidia-cuda-cupti"},
      {"libcudnn_ops.so.9", "nvidia-cudnn"},
      {"libcublasLt.so.12", "nvidia-cublas"},
      {"libcufft.so.11", "nvidia-cufft"},
      {"libcurand.so.10", "nvidia-curand"},
      {"libcusolver.so.11", "nvidia-cusolver"},
      {"libnccl.so.2", "nvidia-nccl"},
      {"libnvJitLink.so.12", "nvidia-nvjitlink"},
      {"libnvrtc.so.12", "nvidia-cuda-nvrtc"},
      {"libnvshmem_host.so.3", "nvidia-nvshmem"},
      {"libcufile.so.0", "nvidia-cufile"},
  }));
  CHECK(pin_of_library({{"torch", "2.9.0", {package + "-cu12==1.2"}}}, library) == package + "-cu12==1.2");
  CHECK(pin_of_library({{"torch", "2.9.0", {package + "==1.2"}}}, library) == package + "==1.2");
}

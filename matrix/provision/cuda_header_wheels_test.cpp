#include "matrix/provision/cuda_header_wheels.hpp"

#include "ci/catch.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/provision_fixture.hpp"
#include "matrix/provision/sha256.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using namespace test;
using Catch::Contains;

// A stack locked for CUDA 98.7, its wheels in a folder that pip is told to use in place of any index.
class HeaderScene {
 public:
  HeaderScene() {
    stack_.source = StackSource::wheel;
    stack_.python = "3.12";
    stack_.components = {{"torch", "9.9.9"}, {"cuda", "98.7"}};
    stack_.lock_path = (folder_.path / "stack.lock").string();
    add("nvidia-cuda-nvcc-cu98",
        {{"nvidia/cuda_nvcc/include/crt/host_defines.h", "crt"}, {"nvidia/cuda_nvcc/bin/nvcc", "a program"}});
    add("nvidia-cuda-cccl-cu98", {{"nvidia/cuda_cccl/include/nv/target", "cccl"}});
    add("nvidia-cublas-cu98", {{"nvidia/cublas/include/cublas_v2.h", "not fetched"}});
    write_file(stack_.lock_path, lock_);
  }

  HostCudaHeaders headers(const std::string& cuda = "98.7") {
    said.clear();
    return host_cuda_headers(cuda, {{"stack", stack_}}, home(), kShepherd,
                             [&](const std::string& phase, double) { said += phase + "\n"; });
  }

  const StackSpec& stack() const { return stack_; }
  fs::path home() const { return folder_.path / "home"; }
  fs::path index() const { return folder_.path / "index"; }
  std::string said;

 private:
  void add(const std::string& distribution, const std::vector<ArchiveEntry>& entries) {
    std::string name = distribution;
    std::ranges::replace(name, '-', '_');
    const std::string file = name + "-98.7.1-py3-none-manylinux2014_x86_64.whl";
    write_wheel(index() / file, name, "98.7.1", entries);
    lock_ += fmt::format("{}==98.7.1 --hash=sha256:{}  # {} {} bytes\n", distribution, sha256_of_file(index() / file),
                         file, fs::file_size(index() / file));
  }

  TemporaryFolder folder_;
  TemporaryVariable find_links_{"PIP_FIND_LINKS", (folder_.path / "index").string()};
  TemporaryVariable no_index_{"PIP_NO_INDEX", "1"};
  TemporaryVariable no_toolkit_{"CUDA_HOME", "/nowhere"};
  std::string lock_;
  StackSpec stack_;
};

TEST_CASE("headers of a CUDA are unpacked once from the wheels of the stack that is locked for it",
          "[provision][process]") {
  HeaderScene scene;
  const HostCudaHeaders headers = scene.headers();
  INFO(scene.said);
  CHECK(headers.origin == "the wheels nvidia-cuda-nvcc-cu98 98.7.1, nvidia-cuda-cccl-cu98 98.7.1");
  REQUIRE(headers.folders.size() == 2);
  CHECK(read_file(fs::path(headers.folders[0]) / "nv/target") == "cccl");
  CHECK(read_file(fs::path(headers.folders[1]) / "crt/host_defines.h") == "crt");
  CHECK_FALSE(fs::exists(fs::path(headers.folders[1]).parent_path() / "bin"));
  CHECK(fs::is_empty(scene.home() / "staging"));
  fs::remove_all(scene.index());
  fs::remove_all(scene.home() / "downloads");
  CHECK(scene.headers().folders == headers.folders);
  CHECK(scene.said.empty());
}

TEST_CASE("without a stack for that CUDA, or without its wheels, there are no headers, and it is said why",
          "[provision][process]") {
  HeaderScene scene;
  CHECK(scene.headers("98.8").folders.empty());
  CHECK(scene.said.empty());
  fs::remove_all(scene.index());
  CHECK(scene.headers().folders.empty());
  CHECK_THAT(scene.said, Contains("headers of CUDA 98.7 cannot be fetched: "));
  CHECK_FALSE(fs::exists(scene.home() / "cuda-headers"));
}

TEST_CASE("a damaged lock of another stack for that CUDA does not stop the search", "[provision][process]") {
  HeaderScene scene;
  StackSpec damaged = scene.stack();
  damaged.lock_path = (scene.home().parent_path() / "damaged.lock").string();
  write_file(damaged.lock_path, "nvidia-cuda-nvcc-cu98==98.7.1\n");
  StackSpec gone = damaged;
  gone.lock_path += ".gone";
  const auto headers = host_cuda_headers("98.7", {{"a", damaged}, {"b", gone}, {"stack", scene.stack()}}, scene.home(),
                                         kShepherd, [](const std::string&, double) {});
  CHECK(headers.folders.size() == 2);
}

TEST_CASE("a toolkit of this host is taken before any wheel", "[provision]") {
  HeaderScene scene;
  const TemporaryFolder toolkit;
  const fs::path include = toolkit.path / "include";
  write_file(include / "cuda_runtime_api.h", "#define CUDART_VERSION  98070\n");
  for (const char* header : {"crt/host_defines.h", "nv/target", "cublas_v2.h", "cusparse.h", "cusolverDn.h"}) {
    write_file(include / header, "");
  }
  const TemporaryVariable home("CUDA_HOME", toolkit.path.string());
  CHECK(scene.headers().folders == std::vector<std::string>{include.string()});
  CHECK(scene.headers().origin == "the toolkit in " + toolkit.path.string());
  CHECK(scene.said.empty());
}

}  // namespace
}  // namespace reprobench

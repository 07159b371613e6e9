#include "ci/catch.hpp"
#include "matrix/exec/subprocess.hpp"

using namespace reprobench;

TEST_CASE("the coordinator loads neither torch nor CUDA", "[cli]") {
  SubprocessOptions options;
  options.command = {find_in_path("ldd"), REPROBENCH_BINARY_DIR "/reprobench"};
  const SubprocessResult libraries = run_subprocess(options);
  REQUIRE(libraries.exit_code == 0);
  INFO(libraries.out);
  CHECK(libraries.out.find("libc.so") != std::string::npos);
  for (const char* name : {"torch", "libc10", "libcuda", "libcudart", "libcublas", "libcudnn", "nccl", "nvrtc"}) {
    CHECK(libraries.out.find(name) == std::string::npos);
  }
}

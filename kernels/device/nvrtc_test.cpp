#include "kernels/device/nvrtc.hpp"

#include <algorithm>
#include <stdexcept>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("code is compiled for the newest architecture that the device can run", "[device]") {
  const int supported[] = {75, 80, 86, 89, 90, 100, 120};
  CHECK(architecture_for({9, 0}, supported) == 90);
  CHECK(architecture_for({8, 7}, supported) == 86);
  CHECK(architecture_for({8, 9}, supported) == 89);
  CHECK(architecture_for({10, 3}, supported) == 100);
  CHECK(architecture_for({12, 1}, supported) == 120);
  CHECK(architecture_for({7, 0}, supported) == 0);
  CHECK(architecture_for({11, 0}, supported) == 0);
  CHECK(architecture_for({13, 0}, supported) == 0);
}

TEST_CASE("the log of ptxas tells registers, spills, stack and shared memory of each kernel", "[device]") {
  const auto kernels = parse_resources(
      "ptxas info    : 304 bytes gmem\n"
      "ptxas info    : Compiling entry function 'a' for 'sm_90'\n"
      "ptxas info    : Function properties for a\n"
      "ptxas         .     320 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 42 registers, used 1 barriers, 320 bytes cumulative stack size, 2048 bytes smem\n"
      "ptxas info    : Compile time = 16.425 ms\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_75'\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, 368 bytes cmem[0]\n");
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].kernel == "a");
  CHECK(kernels[0].registers == 42);
  CHECK(kernels[0].stack_bytes == 320);
  CHECK(kernels[0].spill_bytes == 16);
  CHECK(kernels[0].shared_bytes == 2048);
  CHECK(kernels[1].kernel == "b");
  CHECK(kernels[1].registers == 8);
  CHECK(kernels[1].spill_bytes == 0);
  CHECK(kernels[1].shared_bytes == 0);
  CHECK(parse_resources("no such thing").empty());
}

TEST_CASE("the sources in this binary hold every header that they include", "[device]") {
  REQUIRE_FALSE(kernel_sources().empty());
  for (const KernelSource& source : kernel_sources()) {
    CAPTURE(source.module);
    CHECK_FALSE(source.kernels.empty());
    std::vector<std::string_view> texts{source.text};
    for (const KernelHeader& header : source.headers) texts.push_back(header.text);
    for (const std::string_view text : texts) {
      constexpr std::string_view kInclude = "\n#include \"";
      for (std::size_t at = text.find(kInclude); at != text.npos; at = text.find(kInclude, at + 1)) {
        const std::size_t begin = at + kInclude.size();
        const std::string_view name = text.substr(begin, text.find('"', begin) - begin);
        CAPTURE(name);
        CHECK(std::any_of(source.headers.begin(), source.headers.end(),
                          [&](const KernelHeader& header) { return header.name == name; }));
      }
    }
  }
  CHECK_THROWS_AS(kernel_source("no-such-folder"), std::out_of_range);
}

TEST_CASE("a library that is no compiler is refused as such", "[device]") {
  for (const char* library : {"libnvrtc-of-no-toolkit.so.12", REPROBENCH_FAKE_CUDA_LIBRARY}) {
    try {
      Nvrtc{library};
      FAIL("opened " << library);
    } catch (const DeviceError& error) {
      CHECK(error.code() == DeviceErrorCode::no_compiler);
    }
  }
}

TEST_CASE("what the compiler says of a rejected kernel is in the error", "[device]") {
  const Nvrtc nvrtc(REPROBENCH_FAKE_NVRTC_LIBRARY);
  const KernelSource source{"broken", "#error not today\n", {}, {}};
  CHECK_THROWS_WITH(nvrtc.compile(source, 90),
                    "kernel_rejected: broken.cu for sm_90: NVRTC_ERROR_COMPILATION\n#error not today");
}

}  // namespace
}  // namespace reprobench

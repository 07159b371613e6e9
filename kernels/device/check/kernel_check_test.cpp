// Compiles every kernel for every architecture with real NVRTC libraries, which need no GPU. ci/kernel_test.sh fetches
// them and sets $REPROBENCH_NVRTC to their paths, separated by colons; without it these tests fail, since they would
// test nothing. $REPROBENCH_KERNEL_RESOURCES names a CSV file for what each kernel uses.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ci/catch.hpp"
#include "kernels/device/check/resource_budget.hpp"
#include "kernels/device/nvrtc.hpp"

namespace reprobench {
namespace {

constexpr int kFirstArchitecture = 75;
constexpr int kLastArchitecture = 121;

std::vector<std::string> libraries() {
  const char* const paths = std::getenv("REPROBENCH_NVRTC");
  INFO("$REPROBENCH_NVRTC names no library: run ci/kernel_test.sh");
  REQUIRE(paths != nullptr);
  std::vector<std::string> found;
  std::istringstream stream(paths);
  for (std::string path; std::getline(stream, path, ':');) found.push_back(path);
  REQUIRE(!found.empty());
  return found;
}

std::vector<int> architectures_of(const Nvrtc& nvrtc) {
  std::vector<int> wanted;
  std::copy_if(nvrtc.architectures().begin(), nvrtc.architectures().end(), std::back_inserter(wanted),
               [](int number) { return number >= kFirstArchitecture && number <= kLastArchitecture; });
  return wanted;
}

std::map<std::string, ResourceBudget> recorded_budget() {
  std::ifstream stream(REPROBENCH_SOURCE_ROOT "/kernels/budget.csv");
  std::stringstream text;
  text << stream.rdbuf();
  return parse_budget(text.str());
}

void record(const Nvrtc& nvrtc, int architecture, const std::vector<KernelResources>& kernels) {
  const char* const file = std::getenv("REPROBENCH_KERNEL_RESOURCES");
  if (file == nullptr) return;
  std::ofstream stream(file, std::ios::app);
  for (const KernelResources& kernel : kernels) {
    stream << nvrtc.version() << ",sm_" << architecture << "," << kernel.kernel << "," << kernel.registers << ","
           << kernel.stack_bytes << "," << kernel.spill_bytes << "," << kernel.shared_bytes << "\n";
  }
}

std::vector<std::string> sorted_names(const CompiledModule& compiled) {
  std::vector<std::string> names;
  for (const KernelResources& kernel : compiled.resources) names.push_back(kernel.kernel);
  std::sort(names.begin(), names.end());
  return names;
}

DeviceErrorCode code_of(const Nvrtc& nvrtc, const KernelSource& source, int architecture) {
  try {
    nvrtc.compile(source, architecture);
  } catch (const DeviceError& error) {
    UNSCOPED_INFO(error.what());
    return error.code();
  }
  return DeviceErrorCode::unknown;
}

TEST_CASE("every kernel compiles for every architecture within its budget of registers and spills", "[nvrtc]") {
  const auto budget = recorded_budget();
  for (const std::string& library : libraries()) {
    const Nvrtc nvrtc(library);
    REQUIRE(architectures_of(nvrtc).size() >= 6);
    for (const KernelSource& source : kernel_sources()) {
      for (const int architecture : architectures_of(nvrtc)) {
        CAPTURE(nvrtc.version(), architecture, source.module);
        const CompiledModule compiled = nvrtc.compile(source, architecture);
        record(nvrtc, architecture, compiled.resources);
        std::vector<std::string> expected(source.kernels.begin(), source.kernels.end());
        std::sort(expected.begin(), expected.end());
        CHECK(sorted_names(compiled) == expected);
        CHECK(over_budget(compiled.resources, budget) == std::vector<std::string>{});
      }
    }
  }
}

TEST_CASE("a kernel that spills, or has no budget, is found by the check", "[nvrtc]") {
  // 64 values of two registers each live across a barrier, where a block of 1024 threads leaves 64 registers a thread.
  constexpr std::string_view kText =
      "extern \"C\" __global__ void __launch_bounds__(1024) glutton(double* p) {\n"
      "  double held[64];\n"
      "#pragma unroll\n"
      "  for (int i = 0; i < 64; ++i) held[i] = p[i * 32 + threadIdx.x];\n"
      "  __syncthreads();\n"
      "#pragma unroll\n"
      "  for (int i = 0; i < 64; ++i) p[i * 64 + threadIdx.x] = held[63 - i] * held[i];\n"
      "}\n";
  const KernelSource source{"glutton", kText, {}, {}};
  for (const std::string& library : libraries()) {
    const Nvrtc nvrtc(library);
    const CompiledModule compiled = nvrtc.compile(source, 90);
    REQUIRE(compiled.resources.size() == 1);
    CHECK(compiled.resources[0].spill_bytes > 0);
    CHECK(over_budget(compiled.resources, {{"glutton", {64, 0}}}).size() == 1);
    CHECK(over_budget(compiled.resources, {{"glutton", {16, 0}}}).size() == 2);
    CHECK(over_budget(compiled.resources, {}).size() == 1);
  }
}

TEST_CASE("a kernel with a wrong signature or a syntax error is rejected with the compiler's log", "[nvrtc]") {
  const KernelSource& digest = kernel_source("digest");
  std::string other_signature(digest.text);
  const std::size_t at = other_signature.rfind("uint32_t span_count, uint64_t block_count");
  REQUIRE(at != std::string::npos);
  other_signature.replace(at, 8, "uint64_t");
  for (const std::string& library : libraries()) {
    const Nvrtc nvrtc(library);
    CHECK(code_of(nvrtc, {"digest", other_signature, digest.headers, {}}, 90) == DeviceErrorCode::kernel_rejected);
    CHECK(code_of(nvrtc, {"broken", "__global__ void broken( {", {}, {}}, 90) == DeviceErrorCode::kernel_rejected);
    CHECK_THROWS_WITH(nvrtc.compile({"broken", "__global__ void broken( {", {}, {}}, 90),
                      Catch::Matchers::Contains("broken.cu(1)"));
  }
}

TEST_CASE("an architecture that the compiler does not know has no kernel image", "[nvrtc]") {
  for (const std::string& library : libraries()) {
    CHECK(code_of(Nvrtc(library), kernel_source("digest"), 20) == DeviceErrorCode::no_kernel_image);
  }
}

TEST_CASE("a budget that is no table is refused with its line", "[nvrtc]") {
  CHECK(parse_budget("kernel,max_registers,max_spill_bytes\na,32,0\n").at("a").registers == 32);
  CHECK_THROWS_WITH(parse_budget("kernel,max_registers,max_spill_bytes\na,many,0\n"),
                    Catch::Matchers::Contains("line 2"));
  CHECK_THROWS_WITH(parse_budget("kernel,max_registers,max_spill_bytes\na,3\n"), Catch::Matchers::Contains("line 2"));
  CHECK_THROWS_AS(parse_budget("a,32,0\n"), std::invalid_argument);
}

}  // namespace
}  // namespace reprobench

#include "matrix/plan/host_facts.hpp"

#include <cstring>

#include "ci/catch.hpp"
#include "matrix/plan/dotted_version.hpp"
#include "matrix/plan/host_text.hpp"
#include "matrix/plan/nvml.hpp"

using namespace reprobench;

namespace {

// A machine with three GPUs, the second of which does not answer.
NvmlFunctions fake_nvml() {
  NvmlFunctions nvml;
  nvml.init = [] { return 0; };
  nvml.shutdown = [] { return 0; };
  nvml.driver_version = [](char* text, unsigned) {
    std::strcpy(text, "570.124.06");
    return 0;
  };
  nvml.device_count = [](unsigned* count) {
    *count = 3;
    return 0;
  };
  nvml.device_by_index = [](unsigned index, NvmlFunctions::Device* device) {
    *device = reinterpret_cast<NvmlFunctions::Device>(static_cast<std::uintptr_t>(index + 1));
    return index == 1 ? 15 : 0;  // NVML_ERROR_GPU_IS_LOST
  };
  nvml.device_name = [](NvmlFunctions::Device, char* text, unsigned) {
    std::strcpy(text, "NVIDIA H100 80GB HBM3");
    return 0;
  };
  nvml.compute_capability = [](NvmlFunctions::Device, int* major, int* minor) {
    *major = 9;
    *minor = 0;
    return 0;
  };
  nvml.memory = [](NvmlFunctions::Device, NvmlFunctions::Memory* memory) {
    *memory = {85'520'809'984, 1, 2};
    return 0;
  };
  return nvml;
}

}  // namespace

TEST_CASE("GPUs come with name, capability and memory; one that does not answer is left out", "[plan]") {
  const GpuInventory inventory = read_gpus(fake_nvml());
  CHECK(inventory.driver == "570.124.06");
  REQUIRE(inventory.gpus.size() == 2);
  CHECK(inventory.gpus[0].name == "NVIDIA H100 80GB HBM3");
  CHECK(inventory.gpus[0].compute_capability == "9.0");
  CHECK(inventory.gpus[0].memory_bytes == 85'520'809'984);
}

TEST_CASE("a driver that does not start is no driver", "[plan]") {
  NvmlFunctions nvml = fake_nvml();
  nvml.init = [] { return 9; };  // NVML_ERROR_DRIVER_NOT_LOADED
  const GpuInventory inventory = read_gpus(nvml);
  CHECK(inventory.driver.empty());
  CHECK(inventory.gpus.empty());
}

TEST_CASE("this host is described and survives its document", "[plan]") {
  const HostFacts host = detect_host();
  CHECK_FALSE(host.kernel.empty());
  CHECK_FALSE(host.glibc.empty());
  CHECK(host.cores >= 1);
  CHECK(host.memory_bytes > 0);
  CHECK(to_json(host_facts_from_json(to_json(host))) == to_json(host));
}

TEST_CASE("the CPU's instruction sets are those ATen would use", "[plan]") {
  const std::string head = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nflags\t\t: fpu sse2 ";
  CHECK(cpu_text(head + "avx2 fma\n").model == "Some CPU @ 2.0GHz");
  CHECK(cpu_text(head + "avx2 fma\n").isa == std::vector<std::string>{"avx2"});
  CHECK(cpu_text(head + "avx2 fma avx512f avx512vl avx512bw avx512dq\n").isa ==
        std::vector<std::string>{"avx2", "avx512"});
  CHECK(cpu_text(head + "avx2\n").isa.empty());
  CHECK(cpu_text("").model == "unknown");
}

TEST_CASE("the system's name is its pretty one", "[plan]") {
  CHECK(os_name("NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n") ==
        "Debian GNU/Linux 12 (bookworm)");
  CHECK(os_name("") == "Linux");
}

TEST_CASE("versions compare part by part as numbers", "[plan]") {
  CHECK(version_less("9.9", "9.10"));
  CHECK_FALSE(version_less("9.10", "9.9"));
  CHECK_FALSE(version_less("12.8", "12.8.0"));
  CHECK_FALSE(version_less("12.8.0", "12.8"));
  CHECK(version_less("570.26", "570.124.06"));
  CHECK(version_names("9.10.2", "9.10.2.21"));
  CHECK_FALSE(version_names("9.1", "9.10"));
  CHECK(version_numbers("2.9.0+cu128") == std::vector<int>{2, 9, 0});
  CHECK(version_numbers("abc").empty());
}

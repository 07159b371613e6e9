#include "matrix/contract/device/host_facts.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

HostFacts sample_host() {
  HostFacts host;
  host.host_name = "runner-1";
  host.os = "Debian GNU/Linux 12 (bookworm)";
  host.kernel = "6.1.0";
  host.glibc = "2.36";
  host.architecture = "x86_64";
  host.cpu_model = "Some CPU @ 2.0GHz";
  host.cpu_isa = {"avx2"};
  host.cores = 8;
  host.memory_bytes = 1'000'000'000;
  host.driver = "570.124.06";
  host.driver_cuda = "12.8";
  return host;
}

TEST_CASE("GPUs and their driver survive the host's document", "[contract]") {
  HostFacts host = sample_host();
  GpuFacts gpu;
  gpu.name = "NVIDIA H100 80GB HBM3";
  gpu.compute_capability = "9.0";
  gpu.memory_bytes = 85'520'809'984;
  gpu.uuid = "GPU-a";
  gpu.ecc = "on";
  gpu.nvlinks_active = 18;
  host.gpus = {gpu};
  const HostFacts back = host_facts_from_json(to_json(host));
  CHECK(to_json(back) == to_json(host));
  CHECK(back.driver_cuda == "12.8");
  CHECK(back.gpus.at(0).uuid == "GPU-a");
  CHECK(back.gpus.at(0).nvlinks_active == 18);
}

}  // namespace
}  // namespace reprobench

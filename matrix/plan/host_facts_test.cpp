#include "matrix/plan/host_facts.hpp"

#include "ci/catch.hpp"
#include "matrix/plan/dotted_version.hpp"
#include "matrix/plan/host_text.hpp"

using namespace reprobench;

TEST_CASE("GPUs and their driver survive the host's document", "[plan]") {
  HostFacts host = detect_host({"570.124.06", "12.8", {}, {}, {}, {}});
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

TEST_CASE("a host's document from before GPUs had identities is still read", "[plan]") {
  nlohmann::json document = to_json(detect_host({}));
  document.erase("driver_cuda");
  document["gpus"] = {{{"name", "NVIDIA A100"}, {"compute_capability", "8.0"}, {"memory_bytes", 1}}};
  const HostFacts host = host_facts_from_json(document);
  CHECK(host.gpus.at(0).compute_capability == "8.0");
  CHECK(host.gpus.at(0).uuid.empty());
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

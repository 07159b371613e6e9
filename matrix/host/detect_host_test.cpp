#include "matrix/host/detect_host.hpp"

#include "ci/catch.hpp"
#include "matrix/host/host_text.hpp"

using namespace reprobench;

TEST_CASE("this host is described and survives its document", "[host]") {
  const HostFacts host = detect_host();
  CHECK_FALSE(host.kernel.empty());
  CHECK_FALSE(host.glibc.empty());
  CHECK(host.cores >= 1);
  CHECK(host.memory_bytes > 0);
  CHECK(to_json(host_facts_from_json(to_json(host))) == to_json(host));
}

TEST_CASE("a driver is named though it has no GPU", "[host]") {
  const HostFacts host = detect_host({"570.124.06", "12.8", {}, {}, {}, {}});
  CHECK(host.driver == "570.124.06");
  CHECK(host.driver_cuda == "12.8");
}

TEST_CASE("the CPU's instruction sets are those ATen would use", "[host]") {
  const std::string head = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nflags\t\t: fpu sse2 ";
  CHECK(cpu_text(head + "avx2 fma\n").model == "Some CPU @ 2.0GHz");
  CHECK(cpu_text(head + "avx2 fma\n").isa == std::vector<std::string>{"avx2"});
  CHECK(cpu_text(head + "avx2 fma avx512f avx512vl avx512bw avx512dq\n").isa ==
        std::vector<std::string>{"avx2", "avx512"});
  CHECK(cpu_text(head + "avx2\n").isa.empty());
  CHECK(cpu_text("").model == "unknown");
}

TEST_CASE("the system's name is its pretty one", "[host]") {
  CHECK(os_name("NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n") ==
        "Debian GNU/Linux 12 (bookworm)");
  CHECK(os_name("") == "Linux");
}

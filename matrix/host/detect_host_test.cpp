#include "matrix/host/detect_host.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <list>
#include <optional>

#include <sched.h>
#include <signal.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/host/cpu_limits.hpp"
#include "matrix/host/detached_thread.hpp"
#include "matrix/host/driver_folder.hpp"
#include "matrix/host/host_text.hpp"

using namespace reprobench;

TEST_CASE("this host is described and survives its document", "[host]") {
  const HostFacts host = detect_host();
  CHECK_FALSE(host.kernel.empty());
  CHECK_FALSE(host.glibc.empty());
  utsname system{};
  REQUIRE(uname(&system) == 0);
  CHECK(host.host_name == system.nodename);
  CHECK(host.kernel == system.release);
  CHECK(host.architecture == system.machine);
  struct sysinfo memory {};
  REQUIRE(sysinfo(&memory) == 0);
  CHECK(host.memory_bytes == static_cast<std::int64_t>(memory.totalram * memory.mem_unit));
  CHECK(to_json(host_facts_from_json(to_json(host))) == to_json(host));
}

TEST_CASE("cores are those this process may use", "[host]") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(detect_host({}).cores == CPU_COUNT(&before));
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(detect_host({}).cores == 1);
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}

TEST_CASE("the driver's folder is the first of LD_LIBRARY_PATH that holds libcuda", "[host]") {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const fs::path& root = folder.path;
  for (const char* name : {"empty", "first", "second", "of_32_bits", "damaged"}) fs::create_directories(root / name);
  std::ofstream(root / "first/libcuda.so.1") << "\x7f"
                                                "ELF\x02";
  std::ofstream(root / "second/libcuda.so.1") << "\x7f"
                                                 "ELF\x02";
  std::ofstream(root / "of_32_bits/libcuda.so.1") << "\x7f"
                                                     "ELF\x01";
  std::ofstream(root / "damaged/libcuda.so.1").put('x');
  const auto found = [](const std::string& path) {
    const TemporaryVariable searched("LD_LIBRARY_PATH", path);
    return driver_folder();
  };
  const std::string in = root.string() + "/";
  CHECK(found(in + "empty:" + in + "first:" + in + "second") == in + "first");
  CHECK(found(in + "second:" + in + "first") == in + "second");
  CHECK(found(in + "no_such:" + in + "second") == in + "second");
  CHECK(found(in + "of_32_bits:" + in + "damaged:" + in + "second") == in + "second");
  CHECK(found(in + "empty").empty());
  CHECK(found("").empty());
  const fs::path here = fs::current_path();
  fs::current_path(root / "first");
  CHECK(
      found("::")
          .empty());  // to the loader an empty entry is this folder; whoever starts a run is not meant to be the driver
  fs::current_path(root);
  CHECK(found("first") == in + "first");
  fs::current_path(here);
  const TemporaryVariable none("LD_LIBRARY_PATH", std::nullopt);
  CHECK(driver_folder().empty());
}

TEST_CASE("a library of this host is a file that begins as its own do", "[host]") {
  CHECK(is_library_of_host("/proc/self/exe"));
  CHECK_FALSE(is_library_of_host("/proc/self/maps"));
  CHECK_FALSE(is_library_of_host("/proc/self"));
  CHECK_FALSE(is_library_of_host("/no/such/file"));
}

TEST_CASE("signals stay with the threads that were there before", "[host]") {
  sigset_t before;
  REQUIRE(pthread_sigmask(SIG_SETMASK, nullptr, &before) == 0);
  std::promise<sigset_t> promise;
  start_detached([&promise] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    promise.set_value(mask);
  });
  const sigset_t inside = promise.get_future().get();
  sigset_t after;
  REQUIRE(pthread_sigmask(SIG_SETMASK, nullptr, &after) == 0);
  for (const int number : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGALRM}) {
    INFO(number);
    CHECK(sigismember(&inside, number) == 1);
    CHECK(sigismember(&after, number) == sigismember(&before, number));
  }
}

TEST_CASE("a driver is named though it has no GPU", "[host]") {
  const HostFacts host = detect_host({"570.124.06", "12.8", {}, {}, {}, {}});
  CHECK(host.driver == "570.124.06");
  CHECK(host.driver_cuda == "12.8");
}

TEST_CASE("how the devices of this machine hang together is a fact of it", "[host]") {
  const HostFacts here = detect_host({});
  REQUIRE(here.topology);
  CHECK(host_facts_from_json(to_json(here)).topology->numa_nodes.size() == here.topology->numa_nodes.size());
  const HostFacts nowhere = detect_host({}, "/no/such/sysfs");
  REQUIRE(nowhere.topology);
  CHECK(nowhere.topology->devices.empty());
  nlohmann::json older = to_json(here);
  older.erase("topology");  // a plan made before it was asked
  CHECK_FALSE(host_facts_from_json(older).topology);
}

TEST_CASE("the CPU's instruction sets are those ATen would use", "[host]") {
  const std::string head = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nflags\t\t: fpu sse2 ";
  CHECK(cpu_text(head + "avx2 fma\n").model == "Some CPU @ 2.0GHz");
  CHECK(cpu_text(head + "avx2 fma\n").isa == std::vector<std::string>{"avx2"});
  CHECK(cpu_text(head + "avx2 fma avx512f avx512vl avx512bw avx512dq\n").isa ==
        std::vector<std::string>{"avx2", "avx512"});
  CHECK(cpu_text(head + "avx2\n").isa.empty());
  CHECK(cpu_text("model name:x\nflags:fma avx2\n").model == "x");
  CHECK(cpu_text("model name:x\nflags:fma avx2\n").isa == std::vector<std::string>{"avx2"});
  CHECK(cpu_text("").model == "unknown");
  CHECK(cpu_text("").revision.empty());
}

TEST_CASE("a CPU's revision and the instructions beyond AVX-512 are read, each from its own line", "[host]") {
  const CpuText xeon = cpu_text(
      "cpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Xeon\nstepping\t: 8\nmicrocode\t: 0x2b\n"
      "flags\t\t: fma avx2 avx512f avx512dq avx512bw avx512vl avx512_bf16 amx_tile avx512_fp16\n"
      "vmx flags\t: vnmi\n");
  CHECK(xeon.revision == "family 6, model 143, stepping 8, microcode 0x2b");
  CHECK(xeon.isa == std::vector<std::string>{"avx2", "avx512", "avx512_bf16", "avx512_fp16", "amx"});
  CHECK(cpu_text("model\t: 143\nvmx flags : avx2 fma\n").revision == "model 143");
  CHECK(cpu_text("model\t: 143\nvmx flags : avx2 fma\n").isa.empty());
}

TEST_CASE("a host stands for a lesser CPU where a class is named, and for itself whatever else is set", "[host]") {
  std::list<TemporaryVariable> clean;
  for (const char* name : kCpuLimits) clean.emplace_back(name, std::nullopt);
  const TemporaryVariable unnamed(kCpuClass, std::nullopt);
  const std::vector<std::string> isa = detect_host({}).cpu_isa;
  const TemporaryVariable aten("ATEN_CPU_CAPABILITY", "avx2");
  CHECK(set_cpu_limits() == std::map<std::string, std::string>{{"ATEN_CPU_CAPABILITY", "avx2"}});
  CHECK(detect_host({}).cpu_limits.empty());
  CHECK(detect_host({}).cpu_isa == isa);
  const TemporaryVariable empty(kCpuClass, "");
  CHECK(cpu_limits().empty());
  const TemporaryVariable preloaded("LD_PRELOAD", "/some.so");
  CHECK(cpu_limits().empty());
  const TemporaryVariable named(kCpuClass, "avx2");
  const HostFacts lesser = detect_host({});
  CHECK(lesser.cpu_limits == std::map<std::string, std::string>{
                                 {"ATEN_CPU_CAPABILITY", "avx2"}, {"LD_PRELOAD", "/some.so"}, {kCpuClass, "avx2"}});
  CHECK(lesser.cpu_isa == isa_within(isa, lesser.cpu_limits));
  CHECK(host_facts_from_json(to_json(lesser)).cpu_limits == lesser.cpu_limits);
  CHECK(host_facts_from_json(to_json(lesser)).cpu_revision == lesser.cpu_revision);
}

TEST_CASE("of a CPU's instructions those up to the class it stands for are there", "[host]") {
  const std::vector<std::string> all{"avx2", "avx512", "avx512_bf16", "amx"};
  CHECK(isa_within(all, {}) == all);
  CHECK(isa_within(all, {{kCpuClass, "avx512"}}) == std::vector<std::string>{"avx2", "avx512"});
  CHECK(isa_within(all, {{kCpuClass, "avx2"}}) == std::vector<std::string>{"avx2"});
  CHECK(isa_within(all, {{kCpuClass, "avx2_amd"}}) == std::vector<std::string>{"avx2"});
  CHECK(isa_within(all, {{kCpuClass, "avx512_bf16"}}) == std::vector<std::string>{"avx2", "avx512", "avx512_bf16"});
  CHECK(isa_within({"avx2"}, {{kCpuClass, "avx512"}}) == std::vector<std::string>{"avx2"});
}

TEST_CASE("the system's name is its pretty one", "[host]") {
  CHECK(os_name("NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n") ==
        "Debian GNU/Linux 12 (bookworm)");
  CHECK(os_name("") == "Linux");
}

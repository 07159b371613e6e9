#include "matrix/host/detect_host.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>

#include <sched.h>
#include <signal.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ci/catch.hpp"
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
  const fs::path root = fs::temp_directory_path() / ("reprobench-driver-" + std::to_string(getpid()));
  for (const char* name : {"empty", "first", "second"}) fs::create_directories(root / name);
  std::ofstream(root / "first/libcuda.so.1").put('x');
  std::ofstream(root / "second/libcuda.so.1").put('x');
  const std::string before = std::getenv("LD_LIBRARY_PATH") == nullptr ? "" : std::getenv("LD_LIBRARY_PATH");
  const auto found = [&](const std::string& path) {
    setenv("LD_LIBRARY_PATH", path.c_str(), 1);
    return driver_folder();
  };
  const std::string in = root.string() + "/";
  CHECK(found(in + "empty:" + in + "first:" + in + "second") == in + "first");
  CHECK(found(in + "second:" + in + "first") == in + "second");
  CHECK(found(in + "no_such:" + in + "second") == in + "second");
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
  unsetenv("LD_LIBRARY_PATH");
  CHECK(driver_folder().empty());
  if (!before.empty()) setenv("LD_LIBRARY_PATH", before.c_str(), 1);
  fs::remove_all(root);
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
}

TEST_CASE("the system's name is its pretty one", "[host]") {
  CHECK(os_name("NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n") ==
        "Debian GNU/Linux 12 (bookworm)");
  CHECK(os_name("") == "Linux");
}

#include "suites/worker/stack_probe.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <torch/version.h>

#include "ci/catch.hpp"
#include "matrix/contract/device/host_facts.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/describe.hpp"
#include "suites/worker/mapped_libraries.hpp"
#include "suites/worker/peak_memory.hpp"
#include "suites/worker/process_facts.hpp"
#include "suites/worker/temporary_folder.hpp"

namespace reprobench {
namespace {

TEST_CASE("the fingerprint names the LibTorch that is mapped, with its build id", "[worker]") {
  const Fingerprint fingerprint = probe_stack();
  const auto torch = std::find_if(fingerprint.components.begin(), fingerprint.components.end(),
                                  [](const ComponentVersion& component) { return component.name == "torch"; });
  REQUIRE(torch != fingerprint.components.end());
  CHECK(torch->compiled == TORCH_VERSION);
  CHECK_FALSE(torch->path.empty());
  const auto library =
      std::find_if(fingerprint.libraries.begin(), fingerprint.libraries.end(),
                   [&](const MappedLibrary& mapped) { return mapped.path.find("libtorch_cpu") != std::string::npos; });
  REQUIRE(library != fingerprint.libraries.end());
  CHECK(library->build_id.size() == 40);
  CHECK(fingerprint.blas_provider != "unknown");
  CHECK_FALSE(fingerprint.cpu_capability.empty());
  CHECK_FALSE(fingerprint.cpu_model.empty());
}

TEST_CASE("the fingerprint says which instructions ATen takes, and the variables that keep it from others",
          "[worker]") {
  std::ifstream cpuinfo("/proc/cpuinfo");
  const std::set<std::string> words{std::istream_iterator<std::string>(cpuinfo), {}};
  const auto has = [&](std::initializer_list<const char*> flags) {
    return std::ranges::all_of(flags, [&](const char* flag) { return words.count(flag) == 1; });
  };
  const char* const capped = std::getenv("ATEN_CPU_CAPABILITY");
  std::string expected = capped != nullptr                                             ? capped
                         : has({"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma"}) ? "avx512"
                         : has({"avx2", "fma"})                                        ? "avx2"
                                                                                       : "default";
  std::ranges::transform(expected, expected.begin(), [](unsigned char c) { return std::toupper(c); });
  CHECK(probe_stack().cpu_capability == expected);
  for (const char* name : kCpuLimits) {
    INFO(name);
    CHECK((probe_stack().environment.count(name) == 1) == (std::getenv(name) != nullptr));
  }
  const char* const before = std::getenv(kCpuClass);
  if (before == nullptr) setenv(kCpuClass, "some", 1);
  CHECK(probe_stack().environment.at(kCpuClass) == std::getenv(kCpuClass));
  if (before == nullptr) unsetenv(kCpuClass);
}

TEST_CASE("a library from elsewhere is named in the fingerprint, one of the host's that no stack is made of is not",
          "[worker]") {
  const TemporaryFolder folder;
  const auto has = [](const std::string& ending) {
    return std::ranges::any_of(probe_stack().libraries,
                               [&](const MappedLibrary& library) { return library.path.ends_with(ending); });
  };
  const std::string foreign = (folder.path() / "libforeign.so").string();
  std::filesystem::copy_file(find_mapped(mapped_shared_objects(), "libgcc_s"), foreign);
  CHECK_FALSE(has("/libforeign.so"));
  void* const library = dlopen(foreign.c_str(), RTLD_LAZY | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  CHECK(has("/libforeign.so"));
  dlclose(library);
  void* const of_host = dlopen("libresolv.so.2", RTLD_LAZY | RTLD_LOCAL);
  REQUIRE(of_host != nullptr);
  CHECK_FALSE(find_mapped(mapped_shared_objects(), "libresolv").empty());
  CHECK_FALSE(has("/libresolv.so.2"));
  dlclose(of_host);
}

TEST_CASE("the description is a valid document that lists every model", "[worker]") {
  const Capability capability = capability_from_json(to_json(describe_worker()));
  REQUIRE(capability.workloads.size() == models().size());
  const auto mlp = std::find_if(capability.workloads.begin(), capability.workloads.end(),
                                [](const WorkloadDescription& workload) { return workload.model == "mlp"; });
  REQUIRE(mlp != capability.workloads.end());
  CHECK(mlp->presets.front().parameters == 101'770);
}

TEST_CASE("the process knows its age and its memory", "[worker]") {
  const auto age = since_process_start_ns();
  CHECK(age > 0);
  CHECK(since_process_start_ns() >= age);
  const ResidentMemory before = resident_memory();
  CHECK(before.anonymous_bytes > 0);
  CHECK(before.anonymous_bytes < before.all_bytes);  // the libraries are files
  constexpr std::int64_t kBlock_bytes = std::int64_t{64} << 20;
  {
    const std::vector<char> block(static_cast<std::size_t>(kBlock_bytes), 1);
    CHECK(resident_memory().anonymous_bytes >= before.anonymous_bytes + kBlock_bytes * 9 / 10);
  }
  const ResidentMemory peak = PeakMemory().peak();
  CHECK(resident_memory().anonymous_bytes < before.anonymous_bytes + kBlock_bytes / 2);  // it was given back
  CHECK(peak.anonymous_bytes >= before.anonymous_bytes + kBlock_bytes * 9 / 10);
  CHECK(peak.anonymous_bytes < peak.all_bytes);
}

}  // namespace
}  // namespace reprobench

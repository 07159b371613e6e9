#include "matrix/plan/host_facts.hpp"

#include <fstream>
#include <sstream>

#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "matrix/contract/json_field.hpp"
#include "matrix/plan/host_text.hpp"
#include "matrix/plan/nvml.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

constexpr const char* kHostDocument = "host";

std::string content_of(const char* path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

json to_json(const GpuFacts& gpu) {
  return {{"name", gpu.name}, {"compute_capability", gpu.compute_capability}, {"memory_bytes", gpu.memory_bytes}};
}

}  // namespace

HostFacts detect_host() {
  HostFacts host;
  utsname system{};
  if (uname(&system) == 0) {
    host.host_name = system.nodename;
    host.kernel = system.release;
    host.architecture = system.machine;
  }
  host.os = os_name(content_of("/etc/os-release"));
  host.glibc = gnu_get_libc_version();
  const CpuText cpu = cpu_text(content_of("/proc/cpuinfo"));
  host.cpu_model = cpu.model;
  host.cpu_isa = cpu.isa;
  host.cores = usable_cores();
  host.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  GpuInventory inventory = detect_gpus();
  host.driver = std::move(inventory.driver);
  host.gpus = std::move(inventory.gpus);
  return host;
}

json to_json(const HostFacts& host) {
  json gpus = json::array();
  for (const GpuFacts& gpu : host.gpus) gpus.push_back(to_json(gpu));
  return {{"host_name", host.host_name},
          {"os", host.os},
          {"kernel", host.kernel},
          {"glibc", host.glibc},
          {"architecture", host.architecture},
          {"cpu_model", host.cpu_model},
          {"cpu_isa", host.cpu_isa},
          {"cores", host.cores},
          {"memory_bytes", host.memory_bytes},
          {"driver", host.driver},
          {"gpus", std::move(gpus)}};
}

HostFacts host_facts_from_json(const json& object) {
  const auto text = [&](const char* key) { return required<std::string>(kHostDocument, object, key); };
  HostFacts host;
  host.host_name = text("host_name");
  host.os = text("os");
  host.kernel = text("kernel");
  host.glibc = text("glibc");
  host.architecture = text("architecture");
  host.cpu_model = text("cpu_model");
  host.cpu_isa = required<std::vector<std::string>>(kHostDocument, object, "cpu_isa");
  host.cores = required<int>(kHostDocument, object, "cores");
  host.memory_bytes = required<std::int64_t>(kHostDocument, object, "memory_bytes");
  host.driver = text("driver");
  for (const json& gpu : required<json>(kHostDocument, object, "gpus")) {
    host.gpus.push_back({required<std::string>(kHostDocument, gpu, "name"),
                         required<std::string>(kHostDocument, gpu, "compute_capability"),
                         required<std::int64_t>(kHostDocument, gpu, "memory_bytes")});
  }
  return host;
}

}  // namespace reprobench

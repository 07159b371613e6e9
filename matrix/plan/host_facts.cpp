#include "matrix/plan/host_facts.hpp"

#include <fstream>
#include <sstream>

#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "matrix/contract/json_field.hpp"
#include "matrix/plan/nvml.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

// PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
std::string os_name() {
  std::ifstream file("/etc/os-release");
  constexpr std::string_view kKey = "PRETTY_NAME=";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kKey)) continue;
    std::string name = line.substr(kKey.size());
    if (name.size() >= 2 && name.front() == '"') name = name.substr(1, name.size() - 2);
    return name;
  }
  return "unknown";
}

// The text behind the colon of the first line of /proc/cpuinfo that begins with `key`.
std::string cpuinfo(std::string_view key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with(key) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

// The instruction sets the knob cpu_isa can cap at. ATen calls a CPU avx512 if it has F, DQ, VL and BW.
std::vector<std::string> vector_isa() {
  const std::string flags = " " + cpuinfo("flags") + " ";
  const auto has = [&](const char* flag) { return flags.find(std::string(" ") + flag + " ") != std::string::npos; };
  std::vector<std::string> isa;
  if (has("avx2") && has("fma")) isa.emplace_back("avx2");
  if (has("avx512f") && has("avx512dq") && has("avx512vl") && has("avx512bw")) isa.emplace_back("avx512");
  return isa;
}

int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return CPU_COUNT(&cores);
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
  host.os = os_name();
  host.glibc = gnu_get_libc_version();
  host.cpu_model = cpuinfo("model name");
  host.cpu_isa = vector_isa();
  host.cores = usable_cores();
  host.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  const NvidiaFacts nvidia = query_nvml();
  host.driver = nvidia.driver;
  host.gpus = nvidia.gpus;
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
  HostFacts host;
  host.host_name = required<std::string>("host", object, "host_name");
  host.os = required<std::string>("host", object, "os");
  host.kernel = required<std::string>("host", object, "kernel");
  host.glibc = required<std::string>("host", object, "glibc");
  host.architecture = required<std::string>("host", object, "architecture");
  host.cpu_model = required<std::string>("host", object, "cpu_model");
  host.cpu_isa = required<std::vector<std::string>>("host", object, "cpu_isa");
  host.cores = required<int>("host", object, "cores");
  host.memory_bytes = required<std::int64_t>("host", object, "memory_bytes");
  host.driver = required<std::string>("host", object, "driver");
  for (const json& gpu : required<std::vector<json>>("host", object, "gpus")) {
    host.gpus.push_back({required<std::string>("gpu", gpu, "name"),
                         required<std::string>("gpu", gpu, "compute_capability"),
                         required<std::int64_t>("gpu", gpu, "memory_bytes")});
  }
  return host;
}

}  // namespace reprobench

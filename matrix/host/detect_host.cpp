#include "matrix/host/detect_host.hpp"

#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "matrix/base/regular_file.hpp"
#include "matrix/host/cpu_limits.hpp"
#include "matrix/host/host_text.hpp"
#include "matrix/host/sysfs_topology.hpp"

namespace reprobench {
namespace {

std::string content_of(const char* path) {
  return read_regular_file(path, 16 << 20).text;  // cpuinfo of hundreds of cores has less than one MiB
}

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

HostFacts detect_host() { return detect_host(detect_gpus()); }

HostFacts detect_host(const GpuInventory& gpus, const std::filesystem::path& sysfs) {
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
  host.cpu_revision = cpu.revision;
  host.cpu_limits = cpu_limits();
  host.cpu_isa = isa_within(cpu.isa, host.cpu_limits);
  host.cores = usable_cores();
  host.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  host.driver = gpus.driver;
  host.driver_cuda = gpus.driver_cuda;
  host.gpus = gpus.gpus;
  host.topology = read_topology(sysfs, gpus.links);
  return host;
}

}  // namespace reprobench

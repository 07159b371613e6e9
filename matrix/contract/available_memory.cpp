#include "matrix/contract/available_memory.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string>

namespace reprobench {

std::int64_t available_memory_bytes() {
  std::int64_t of_machine = -1;
  std::ifstream meminfo("/proc/meminfo");
  for (std::string key, rest; of_machine < 0 && meminfo >> key; std::getline(meminfo, rest)) {
    std::int64_t kib = 0;
    if (key == "MemAvailable:" && meminfo >> kib) of_machine = kib * 1024;
  }
  if (of_machine < 0) throw std::runtime_error("/proc/meminfo has no MemAvailable");
  std::int64_t most = 0;
  std::int64_t used = 0;
  // "max" where the group has no limit; then nothing is read.
  if (!(std::ifstream("/sys/fs/cgroup/memory.max") >> most)) return of_machine;
  if (!(std::ifstream("/sys/fs/cgroup/memory.current") >> used)) return of_machine;
  return std::min(of_machine, std::max<std::int64_t>(0, most - used));
}

}  // namespace reprobench

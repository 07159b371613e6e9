#include "suites/worker/process_facts.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "matrix/base/file_descriptor.hpp"

namespace reprobench {
namespace {

// The value behind `key` in a file of "key: value" lines; empty if there is none.
std::string value_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const auto colon = line.find(':');
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

}  // namespace

std::int64_t since_process_start_ns() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const auto after_name = line.rfind(')');
  if (after_name == std::string::npos) throw std::runtime_error("/proc/self/stat cannot be read");
  std::istringstream fields(line.substr(after_name + 2));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;  // proc(5): starttime is field 22, in clock ticks
  std::int64_t start_ticks = 0;
  fields >> start_ticks;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const std::int64_t tick_ns = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec - start_ticks * tick_ns;
}

// The file stays open: where every tensor is digested it is read in every step, and opening it takes up to 40 us.
ResidentMemory resident_memory() {
  static const FileDescriptor kFile(open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  char text[128];
  const ssize_t size = pread(kFile.get(), text, sizeof text - 1, 0);
  text[std::max<ssize_t>(size, 0)] = '\0';
  char* rest = text;
  std::strtoll(rest, &rest, 10);  // pages of address space
  const std::int64_t resident_pages = std::strtoll(rest, &rest, 10);
  const std::int64_t shared_pages = std::strtoll(rest, &rest, 10);
  const std::int64_t page_bytes = sysconf(_SC_PAGESIZE);
  return {resident_pages * page_bytes, (resident_pages - shared_pages) * page_bytes};
}

const char* cpu_model() {
  static const std::string kModel = value_of("/proc/cpuinfo", "model name");
  return kModel.c_str();
}

}  // namespace reprobench

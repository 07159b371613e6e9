#include "matrix/host/host_text.hpp"

#include <algorithm>
#include <set>
#include <sstream>

namespace reprobench {
namespace {

// What ATen asks of a CPU before it takes its kernels of that name.
struct Isa {
  const char* name;
  std::vector<const char*> flags;
};
const Isa kIsas[] = {{"avx2", {"avx2", "fma"}}, {"avx512", {"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma"}}};

// The value of a "key : value" line.
std::string value_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

}  // namespace

std::string os_name(const std::string& os_release) {
  const std::string key = "PRETTY_NAME=";
  std::istringstream lines(os_release);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    std::string name = line.substr(key.size());
    name.erase(std::remove(name.begin(), name.end(), '"'), name.end());
    return name;
  }
  return "Linux";
}

CpuText cpu_text(const std::string& cpuinfo) {
  CpuText cpu;
  cpu.model = value_of(cpuinfo, "model name");
  if (cpu.model.empty()) cpu.model = "unknown";
  std::istringstream words(value_of(cpuinfo, "flags"));
  std::set<std::string> flags;
  for (std::string word; words >> word;) flags.insert(word);
  for (const Isa& isa : kIsas) {
    if (std::all_of(isa.flags.begin(), isa.flags.end(), [&](const char* flag) { return flags.count(flag) != 0; })) {
      cpu.isa.emplace_back(isa.name);
    }
  }
  return cpu;
}

}  // namespace reprobench

#include "matrix/host/host_text.hpp"

#include <algorithm>
#include <set>
#include <sstream>

namespace reprobench {
namespace {

// From the least to the most. The first two have the flags that ATen requires of a CPU before it uses its kernels of
// that name; oneDNN has kernels for the others.
struct Isa {
  const char* name;
  std::vector<const char*> flags;
};
const Isa kIsas[] = {{"avx2", {"avx2", "fma"}},
                     {"avx512", {"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma"}},
                     {"avx512_bf16", {"avx512_bf16"}},
                     {"avx512_fp16", {"avx512_fp16"}},
                     {"amx", {"amx_tile"}}};

// The value of a "key : value" line.
std::string value_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1) != key) continue;
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
  for (const auto& [key, word] : {std::pair{"cpu family", "family "},
                                  {"model", "model "},
                                  {"stepping", "stepping "},
                                  {"microcode", "microcode "}}) {
    if (const std::string value = value_of(cpuinfo, key); !value.empty()) {
      cpu.revision += (cpu.revision.empty() ? "" : ", ") + (word + value);
    }
  }
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

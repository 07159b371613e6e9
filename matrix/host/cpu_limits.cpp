#include "matrix/host/cpu_limits.hpp"

#include <algorithm>
#include <cstdlib>

#include "matrix/contract/device/host_facts.hpp"

namespace reprobench {

std::map<std::string, std::string> set_cpu_limits() {
  std::map<std::string, std::string> set;
  for (const char* name : kCpuLimits) {
    if (const char* value = std::getenv(name); value != nullptr) set[name] = value;
  }
  return set;
}

std::map<std::string, std::string> cpu_limits() {
  const char* name = std::getenv(kCpuClass);
  if (name == nullptr || *name == '\0') return {};
  std::map<std::string, std::string> limits = set_cpu_limits();
  limits[kCpuClass] = name;
  if (const char* library = std::getenv("LD_PRELOAD"); library != nullptr) limits["LD_PRELOAD"] = library;
  return limits;
}

std::vector<std::string> isa_within(std::vector<std::string> isa, const std::map<std::string, std::string>& limits) {
  const auto named = limits.find(kCpuClass);
  if (named == limits.end()) return isa;
  const auto is_named = [&](const std::string& word) { return named->second.starts_with(word); };
  const auto last = std::find_if(isa.rbegin(), isa.rend(), is_named);
  if (last != isa.rend()) isa.erase(last.base(), isa.end());
  return isa;
}

}  // namespace reprobench

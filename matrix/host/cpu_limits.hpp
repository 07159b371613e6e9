// A host that stands for a lesser CPU, so that rules for every CPU can be tested on one.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace reprobench {

// The variables of kCpuLimits (contract/device/host_facts.hpp) in this process's environment.
std::map<std::string, std::string> set_cpu_limits();

// The variables that every worker of this process gets and its host's facts hold: kCpuClass, the kCpuLimits, and
// LD_PRELOAD, which can tell MKL of another maker. Empty unless a class is named.
std::map<std::string, std::string> cpu_limits();

// The part of `isa`, from the least to the most, that a host with such limits has: up to the class that they name. A
// maker may follow the class (avx2_amd).
std::vector<std::string> isa_within(std::vector<std::string> isa, const std::map<std::string, std::string>& limits);

}  // namespace reprobench

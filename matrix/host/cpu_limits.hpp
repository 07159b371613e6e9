// A host that stands for a lesser CPU, so that what holds on every CPU can be tried on one.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace reprobench {

// The kCpuLimits (contract/device/host_facts.hpp) of this process's environment.
std::map<std::string, std::string> set_cpu_limits();

// What every worker of this process gets and its host's facts hold: kCpuClass and with it these and LD_PRELOAD, which
// can tell MKL of another maker; empty unless a class is named.
std::map<std::string, std::string> cpu_limits();

// What of `isa`, from the least to the most, a host with such limits has: up to the class they name, of which a maker
// may follow (avx2_amd).
std::vector<std::string> isa_within(std::vector<std::string> isa, const std::map<std::string, std::string>& limits);

}  // namespace reprobench

// Read-only checks of this host and its stacks, each with a remedy. Each is a row in preflight.cpp; those of the GPUs
// are in gpu_preflight.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "matrix/cli/doctor/preflight_line.hpp"
#include "matrix/cli/project.hpp"
#include "matrix/contract/device/host_facts.hpp"

namespace reprobench {

PreflightLines preflight(const Project& project);

// The finding on this host's CPU, as `preflight` shows it. `set` has the kCpuLimits of this process.
PreflightLine cpu_line(const HostFacts& host, const std::map<std::string, std::string>& set);
PreflightLine memory_line(std::int64_t memory_bytes);
PreflightLine store_line(const std::filesystem::path& store, std::uintmax_t free_bytes);
// The known defects of a stack's versions, and of the libraries that its worker loaded, on devices of these classes.
PreflightLines defect_lines(const StackSpec& stack, const std::set<std::string>& devices, const CompatFacts& facts,
                            const Fingerprint& fingerprint = {});
PreflightLine governor_line(const std::string& governor);

}  // namespace reprobench

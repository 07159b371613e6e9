// The complete environment of one attempt, built from empty: nothing of the user's shell reaches a worker, so it cannot
// differ between two runs, and no secret ends up in a record. Two things have to: the folder of the CUDA driver, where
// the shell's LD_LIBRARY_PATH is what finds it (exec/driver_path.hpp); without it NVML would see a GPU that no worker
// can use. And what makes this host stand for another class of CPU, where somebody asked for that by name
// (matrix/host/cpu_limits.hpp).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "matrix/contract/device/gpu_facts.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/exec/ranks/meeting_point.hpp"

namespace reprobench {

// `of_stack`: what the stack's worker needs; the knobs' variables win over it and over the host's limits. `gpus`: those
// the attempt may use, in the order it sees them; none: the variables that choose among them are not set.
std::map<std::string, std::string> attempt_environment(const CellRequest& request, const std::filesystem::path& folder,
                                                       const std::map<std::string, std::string>& of_stack,
                                                       const std::vector<GpuFacts>& gpus);

// What torchrun tells a process of several: its rank, how many there are and where the first one is. Empty for one.
std::map<std::string, std::string> rank_environment(const CellRequest& request, const MeetingPoint& meeting);

}  // namespace reprobench

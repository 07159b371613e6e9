// The complete environment of one attempt, built from empty. Nothing of the user's shell reaches a worker, so the
// environment cannot differ between two runs, and no secret ends up in a record. There are two exceptions. The first is
// the folder of the CUDA driver, if the shell's LD_LIBRARY_PATH is needed to find it (exec/driver_path.hpp). Without it
// NVML would see a GPU that no worker can use. The second is the set of variables that make this host stand for another
// class of CPU, if somebody asked for that by name (matrix/host/cpu_limits.hpp).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "matrix/contract/device/gpu_facts.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/exec/executor.hpp"
#include "matrix/exec/ranks/meeting_point.hpp"

namespace reprobench {

// The knobs' variables override those of the stack that `worker` is of, and the host's limits.
// `gpus` are those that the attempt may use, in the order in which it sees them. If there are none, the variables that
// choose among GPUs are not set.
std::map<std::string, std::string> attempt_environment(const CellRequest& request, const std::filesystem::path& folder,
                                                       const WorkerCommand& worker, const std::vector<GpuFacts>& gpus);

// The variables that torchrun sets for one process of several: its rank, their number and the address of the first one.
// Empty for a single process.
std::map<std::string, std::string> rank_environment(const CellRequest& request, const MeetingPoint& meeting);

}  // namespace reprobench

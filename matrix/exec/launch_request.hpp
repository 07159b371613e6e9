// What a launcher is asked for one attempt.
#pragma once

#include <filesystem>
#include <vector>

#include "matrix/exec/executor.hpp"
#include "matrix/exec/launcher.hpp"

namespace reprobench {

// `gpus`: gpus_of(attempt), of which each rank sees its own, in their order; or none. A segment of fewer ranks leaves
// the last ones alone. `meeting`: where ranks may open a store.
LaunchRequest launch_request(const CellRequest& request, const std::filesystem::path& attempt_folder,
                             const WorkerCommand& worker, const std::vector<GpuFacts>& gpus,
                             std::chrono::milliseconds grace, const MeetingPoint& meeting = {});

}  // namespace reprobench

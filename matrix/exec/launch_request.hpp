// Makes the request to a launcher for one attempt.
#pragma once

#include <filesystem>
#include <vector>

#include "matrix/exec/executor.hpp"
#include "matrix/exec/launcher.hpp"

namespace reprobench {

// `gpus` are those of gpus_of(attempt), or none. Each rank sees its own of them, in their order; a segment of fewer
// ranks does not use the last ones. `meeting` is where ranks may open a store.
LaunchRequest launch_request(const CellRequest& request, const std::filesystem::path& attempt_folder,
                             const WorkerCommand& worker, const std::vector<GpuFacts>& gpus,
                             std::chrono::milliseconds grace, const MeetingPoint& meeting = {});

}  // namespace reprobench

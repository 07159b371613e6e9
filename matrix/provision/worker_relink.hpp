// Turns a worker that was built for one stack into the worker of another one with the same torch. Only the place where
// it looks for its libraries changes. From then on that place is relative to the worker itself.
#pragma once

#include <filesystem>

namespace reprobench {

// `worker` is a copy that nobody uses yet. `build_folder` is for CMake's input. CMake runs under `shepherd`. Throws
// ProvisionError if the worker names no site/, or CMake cannot change it.
void link_for_own_site(const std::filesystem::path& worker, const std::filesystem::path& build_folder,
                       const std::filesystem::path& shepherd);

}  // namespace reprobench

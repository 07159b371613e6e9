// A worker that was built for one stack, made the worker of another one with the same torch: only where it looks for
// its libraries changes, and from then on that is told from where it lies itself.
#pragma once

#include <filesystem>

namespace reprobench {

// `worker`: a copy that nobody uses yet. `build_folder`: for what CMake is told. `shepherd`: under it CMake runs.
// Throws ProvisionError where it names no site/, or CMake cannot change it.
void link_for_own_site(const std::filesystem::path& worker, const std::filesystem::path& build_folder,
                       const std::filesystem::path& shepherd);

}  // namespace reprobench

// Gathers the facts that gpu_preflight.hpp looks at. Reads files, asks the loader, its cache and nvidia-ctk; changes
// nothing.
#pragma once

#include "matrix/cli/doctor/gpu_preflight.hpp"
#include "matrix/cli/project.hpp"

namespace reprobench {

GpuSituation probe_gpus(const Project& project, const GpuInventory& inventory);

// "NVIDIA Container Toolkit CLI version 1.17.8" -> "1.17.8"; empty if there is no version in it.
std::string toolkit_version(const std::string& output);

// `mode` of the section [nvidia-container-runtime] of its config.toml; empty if it is not set.
std::string toolkit_mode(const std::string& config);

// The 64-bit libcuda.so.1 and libcudart.so.N among what `ldconfig -p` prints, in its order.
std::vector<LoaderLibrary> cached_libraries(const std::string& ldconfig_output);

}  // namespace reprobench

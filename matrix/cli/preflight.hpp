// Read-only checks of this host and its stacks, each with a remedy: one row a check in preflight.cpp; those of the
// GPUs are in gpu_preflight.hpp.
#pragma once

#include "matrix/cli/preflight_line.hpp"
#include "matrix/cli/project.hpp"

namespace reprobench {

PreflightLines preflight(const Project& project);

}  // namespace reprobench

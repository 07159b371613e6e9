// Read-only checks of this host and its stacks, each with a remedy: one row a check in preflight.cpp; those of the
// GPUs are in gpu_preflight.hpp.
#pragma once

#include <string_view>

#include "matrix/cli/preflight_line.hpp"
#include "matrix/cli/project.hpp"

namespace reprobench {

std::string_view to_string(Finding finding);

PreflightLines preflight(const Project& project);

}  // namespace reprobench

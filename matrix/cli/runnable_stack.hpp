// The stack of an image, with a worker that runs inside it.
#pragma once

#include "matrix/cli/project.hpp"
#include "matrix/cli/text/terminal.hpp"

namespace reprobench {

// Builds its worker unless one is there, and asks inside the image what that loads. False: not what the image declares.
// Throws ProvisionError.
bool made_runnable(const StackSpec& spec, const Project& project, const Terminal& terminal);

}  // namespace reprobench

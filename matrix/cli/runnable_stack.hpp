// Makes the stack of an image runnable, by a worker that runs inside it.
#pragma once

#include "matrix/cli/project.hpp"
#include "matrix/cli/text/terminal.hpp"

namespace reprobench {

// Builds its worker unless there is one, with a part for GPUs where this host has any, and asks inside the image which
// libraries that loads. False if they are not
// those that the image declares. Throws ProvisionError.
bool made_runnable(const StackSpec& spec, const Project& project, const Terminal& terminal);

}  // namespace reprobench

// Makes the stack of an image runnable, by a worker that runs inside it.
#pragma once

#include "matrix/cli/project.hpp"
#include "matrix/cli/text/terminal.hpp"

namespace reprobench {

// Builds its worker unless there is one, and asks inside the image which libraries that loads. False if they are not
// those that the image declares. `with_gpu`: the worker has its part for GPUs, if the image has CUDA. Throws
// ProvisionError.
bool made_runnable(const StackSpec& spec, const Project& project, const Terminal& terminal, bool with_gpu);

}  // namespace reprobench

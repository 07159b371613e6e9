// One more forward and backward pass of a training, to find out which library code computes it.
#pragma once

#include "matrix/contract/step_implementations.hpp"
#include "suites/worker/training.hpp"

namespace reprobench {

// Runs the first micro-batch of the last step again, on this rank alone: ranks need not come here together. Call it
// when everything else is done and the use of memory and the model's state have been recorded, since gradients are
// dropped. It takes the memory of a step. Parameters, buffers and traces are left as they are. Throws nothing: an error
// that stops the pass becomes the reason why the operations are not known.
StepImplementations implementations_of_last_step(Training& run);

}  // namespace reprobench

// One more forward and backward pass of a training, to hear which library code computes it.
#pragma once

#include "matrix/contract/step_implementations.hpp"
#include "suites/worker/training.hpp"

namespace reprobench {

// Of the first micro-batch of the last step, on this rank alone: ranks need not come here together. To be called when
// everything else is done, with what memory and model state came to noted: gradients are dropped. It takes the memory
// of a step. Parameters, buffers and traces are left as they are. Throws nothing: what stops the pass is why the
// operations are not known.
StepImplementations implementations_of_last_step(Training& run);

}  // namespace reprobench

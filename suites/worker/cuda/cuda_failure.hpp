// The causes that a result gives for failures of CUDA (contract/result.hpp). The cause decides which side is to blame.
#pragma once

#include <string>

namespace reprobench {

// The cause for a value of cudaError_t; "cuda_error" for values that do not say whose fault it was.
std::string cuda_cause(int error);

// Throws RunFailure with cause and the runtime's own text unless `error` is success. `what` names the call.
void check_cuda(int error, const char* what);

}  // namespace reprobench

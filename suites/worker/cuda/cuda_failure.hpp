// Failures of CUDA in the words of a result (contract/result.hpp): which side is to blame is decided by the word.
#pragma once

#include <string>

namespace reprobench {

// For a value of cudaError_t; "cuda_error" for those that say nothing about whose fault it was.
std::string cuda_cause(int error);

// Throws RunFailure with cause and the runtime's own text unless `error` is success. `what` names the call.
void check_cuda(int error, const char* what);

}  // namespace reprobench

// The values of declared calls' tensors that come from a file of the user's (`from 'NAME'`). The file is read once for
// all calls of a list; only those that a call names stay in memory, in the types and shapes that the file has.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "matrix/contract/declared_call.hpp"
#include "matrix/contract/request.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

class CallTensors {
 public:
  // Throws RunFailure. "bad_request" is for calls that name tensors where the workload names no file, "input_changed"
  // for a file that is not the one planned. "input_refused" is for a tensor that the file does not have as a call
  // declares it, and for a truth value that is neither 0 nor 1.
  CallTensors(const WorkloadRequest& workload, const std::vector<DeclaredCall>& calls);
  ~CallTensors();

  // The values of a tensor that has `from`: row-major, on the CPU; the caller must copy them.
  const at::Tensor& holding(const DeclaredTensor& declared) const;

 private:
  std::map<std::string, std::unique_ptr<at::Tensor>> tensors_;
};

}  // namespace reprobench

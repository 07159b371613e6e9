// What the tensors of declared calls hold that a file of the user's gives (`from 'NAME'`). Read once for all calls of a
// list; only those that a call names stay in memory, in the types and shapes that the file has.
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
  // Throws RunFailure: "bad_request" for calls that name tensors where the workload names no file, "input_changed" for
  // a file that is not the one planned, "input_refused" for a tensor that it has not as a call declares it, and for a
  // truth value that is neither 0 nor 1.
  CallTensors(const WorkloadRequest& workload, const std::vector<DeclaredCall>& calls);
  ~CallTensors();

  // Row-major, on the CPU; the caller copies. Of a tensor that has `from`.
  const at::Tensor& holding(const DeclaredTensor& declared) const;

 private:
  std::map<std::string, std::unique_ptr<at::Tensor>> tensors_;
};

}  // namespace reprobench

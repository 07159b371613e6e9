// A training run that is made up. Its numbers, digests and times look like a real one's and depend on the request
// alone. So everything downstream of a worker can be tested without a model or a framework.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/digest/digest.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/contract/trace.hpp"
#include "suites/fake_worker/behaviour.hpp"

namespace reprobench {

class SyntheticTraining {
 public:
  SyntheticTraining(const CellRequest& request, const Behaviour& behaviour);

  const std::string& workload_digest() const { return workload_digest_; }
  std::string chain() const { return to_hex(chain_); }
  std::int64_t step() const { return step_; }  // the last one that advance() gave
  std::int64_t peak_rss_bytes() const;
  std::int64_t peak_anonymous_bytes() const;

  // The tensors of the step that advance() gives next, in execution order.
  TensorsRecord tensors() const;
  bool is_sketched(std::int64_t step) const;
  StepRecord advance();
  TensorsRecord final_state() const;

  void go_on_after(std::int64_t step, const std::string& chain);

 private:
  std::uint64_t bits_of(const std::string& name, std::int64_t step, bool by_construction = false) const;
  TensorRecord tensor(const std::string& name, TensorRole role, std::int64_t step, bool with_sketch) const;
  Digest root_of_next() const;

  const CellRequest& request_;
  const Behaviour& behaviour_;
  std::string workload_digest_;
  Digest chain_;
  std::int64_t step_ = 0;
};

}  // namespace reprobench

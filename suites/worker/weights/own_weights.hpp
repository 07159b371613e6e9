// A user's own weights: parameters and buffers begin with the values of published files. Files are read once from front
// to back, a piece at a time; the bytes that become weights are the bytes that were hashed, and no second copy of a
// file is in memory.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "models/model_spec.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

// The problems of the workload's files with the preset, by the heads of the files and as told_problems() says them.
// Empty if the files cannot be read as they were planned, which the training itself will report.
std::vector<std::string> problems_of_weights(const WorkloadRequest& workload, const Model& model,
                                             const ModelPreset& preset, std::span<const Model* const> all);

class OwnWeights {
 public:
  // Throws RunFailure "input_changed" for other files than those that were planned. "input_refused" is for files that
  // are not the preset's: names, shapes or types that differ, or values that are not finite. `all` are the models whose
  // weights they may be instead.
  OwnWeights(const WorkloadRequest& workload, const Model& model, const ModelPreset& preset,
             std::span<const Model* const> all);
  OwnWeights(OwnWeights&&) noexcept;
  ~OwnWeights();

  // The parameter or buffer of that name in fp32, in host memory, owned by the caller from now on; undefined if the
  // file has none.
  at::Tensor take(const std::string& name);

  // Throws std::logic_error if a tensor was never taken: a training would run without it.
  void check_all_taken() const;

  const WeightsUse& use() const { return use_; }

 private:
  WeightsUse use_;
  std::map<std::string, std::unique_ptr<at::Tensor>> tensors_;
};

}  // namespace reprobench

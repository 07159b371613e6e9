#include "suites/worker/parallelism/zero.hpp"

#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include "suites/worker/state/tensor_guard.hpp"

namespace reprobench {

bool ZeroStage1::spread_update(const TensorGuard& guard) {
  guard.around(StatePhase::gather, [&] { shards_.gather_parameters(); });
  return true;
}

at::Tensor ZeroStage1::whole(std::size_t parameter, const at::Tensor& piece) { return shards_.whole(parameter, piece); }

at::Tensor ZeroStage2::finish(std::vector<at::Tensor> sums, double share) {
  const at::Tensor loss = sum_over_ranks({sums.front()}, ranks_).front();
  std::vector<at::Tensor> of_parameters(state_.size());
  std::size_t next = 1;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (state_.gradient(i).defined()) of_parameters[i] = std::move(sums[next++]);
  }
  shards_.reduce_gradients(std::move(of_parameters), share);
  return loss.mul(share);
}

at::Tensor ZeroStage3::run(StepPasses& step) {
  step_ = &step;
  return ZeroStage2::run(step);
}

void ZeroStage3::forward(const ReplicaWork& work) {
  gathered_.during([&] { work(0); });
}

void ZeroStage3::backward(double unscale, const ReplicaWork& work) {
  unscale_ = unscale;
  gathered_.during([&] { work(0); });
}

void ZeroStage3::gradient_came(std::size_t parameter) {
  if (unscale_ != 1) state_.scale_gradient(parameter, unscale_);
  step_->show_gradient(parameter);
}

void ZeroStage3::unscale_gradients(double factor) {
  if (!gathered_.reduces_at_once()) ZeroStage2::unscale_gradients(factor);
}

}  // namespace reprobench

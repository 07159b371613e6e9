#include "suites/worker/parallelism/parallelism.hpp"

#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include "suites/worker/state/gradient_norm.hpp"

namespace reprobench {

Parallelism::Parallelism(const Layout& layout, TrainState& state)
    : layout_(layout), state_(state), of_replicas_(static_cast<std::size_t>(layout.replicas)) {}
Parallelism::~Parallelism() = default;

const at::Tensor& Parallelism::parameter(int, std::size_t index) const { return state_.parameter(index); }
const at::Tensor& Parallelism::buffer(int, std::size_t index) const { return state_.buffer(index); }
const at::Tensor& Parallelism::gradient(int replica, std::size_t index) const {
  return parameter(replica, index).grad();
}

double Parallelism::gradient_norm() { return reprobench::gradient_norm(state_); }
at::Tensor Parallelism::whole(std::size_t, const at::Tensor& piece) { return piece; }

// A round after the other. Of a batch that is one micro-batch there is nothing to add up.
at::Tensor Parallelism::run(StepPasses& step) {
  for (std::int64_t round = 0; round < layout_.accumulated; ++round) {
    if (round > 0) clear_gradients();
    step.forward(round);
    step.backward(round);
    if (layout_.is_whole()) return step.take_loss(0, round);
    state_.note_model_state(bytes_beside_state());
    step.show_gradients(round);
    const c10::NoGradGuard no_grad;
    for (int replica = 0; replica < layout_.replicas; ++replica) {
      of_replicas_[static_cast<std::size_t>(replica)].add(terms_of(replica, step.take_loss(replica, round)));
    }
    step.end_exchange();
  }
  const c10::NoGradGuard no_grad;
  PairwiseSum over_replicas;
  for (PairwiseSum& sum : of_replicas_) over_replicas.add(sum.take());
  // A loss is the mean over its micro-batch, and these are equal.
  at::Tensor loss = finish(over_replicas.take(), 1.0 / static_cast<double>(layout_.micro_batches()));
  step.end_exchange();
  return loss;
}

std::vector<at::Tensor> Parallelism::terms_of(int replica, const at::Tensor& loss) {
  std::vector<at::Tensor> terms{loss.detach()};
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (const at::Tensor& own = gradient(replica, i); own.defined()) terms.push_back(own);
  }
  return terms;
}

at::Tensor Parallelism::finish(std::vector<at::Tensor> sums, double share) {
  std::size_t next = 1;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (state_.gradient(i).defined()) state_.parameter(i).mutable_grad() = sums[next++].mul(share);
  }
  return sums.front().mul(share);
}

}  // namespace reprobench

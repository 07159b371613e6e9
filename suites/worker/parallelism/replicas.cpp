#include "suites/worker/parallelism/replicas.hpp"

#include <algorithm>

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include "suites/worker/record/operator_hook.hpp"

namespace reprobench {

// What one replica but the first has of its own, in the model's order.
struct Replicas::Copy {
  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> buffers;
};

Replicas::Replicas(const Layout& layout, TrainState& state, const std::optional<Injection>& fault)
    : Parallelism(layout, state), fault_(fault), threads_(layout.replicas) {}

void Replicas::begin() {
  const auto buffers =
      static_cast<std::size_t>(std::ranges::count(state_.tensors(), TensorRole::buffer, &StateTensor::role));
  for (int replica = 1; replica < layout_.replicas; ++replica) {
    Copy& copy = copies_.emplace_back();
    for (std::size_t i = 0; i < state_.size(); ++i) {
      copy.parameters.push_back(state_.parameter(i).detach().clone());
      if (!state_.is_frozen(i)) copy.parameters.back().set_requires_grad(true);
    }
    for (std::size_t i = 0; i < buffers; ++i) copy.buffers.push_back(state_.buffer(i).clone());
  }
}

Replicas::~Replicas() = default;

const at::Tensor& Replicas::parameter(int replica, std::size_t index) const {
  return replica == 0 ? state_.parameter(index) : copies_[static_cast<std::size_t>(replica - 1)].parameters[index];
}

const at::Tensor& Replicas::buffer(int replica, std::size_t index) const {
  return replica == 0 ? state_.buffer(index) : copies_[static_cast<std::size_t>(replica - 1)].buffers[index];
}

std::int64_t Replicas::bytes_beside_state() const {
  std::int64_t bytes = 0;
  for (const Copy& copy : copies_) {
    for (const at::Tensor& parameter : copy.parameters) {
      bytes += static_cast<std::int64_t>(parameter.nbytes());
      if (parameter.grad().defined()) bytes += static_cast<std::int64_t>(parameter.grad().nbytes());
    }
  }
  return bytes;
}

void Replicas::at_once(const ReplicaWork& work) {
  threads_.run([&](int replica) {
    std::optional<OperatorPause> pause;
    if (replica > 0) pause.emplace();
    work(replica);
  });
}

void Replicas::clear_gradients() {
  Parallelism::clear_gradients();
  for (Copy& copy : copies_) {
    for (at::Tensor& parameter : copy.parameters) parameter.mutable_grad() = at::Tensor();
  }
}

void Replicas::unscale_gradients(double factor) {
  Parallelism::unscale_gradients(factor);
  const c10::NoGradGuard no_grad;
  for (Copy& copy : copies_) {
    for (at::Tensor& parameter : copy.parameters) {
      if (parameter.grad().defined()) parameter.mutable_grad().mul_(factor);
    }
  }
}

// The trained parameters and the buffers that the first has now.
bool Replicas::spread_update(const TensorGuard&) {
  const c10::NoGradGuard no_grad;
  for (int replica = 1; replica < layout_.replicas; ++replica) {
    if (has_fault("replica_stale", replica)) continue;
    Copy& copy = copies_[static_cast<std::size_t>(replica - 1)];
    for (std::size_t i = 0; i < state_.size(); ++i) {
      if (!state_.is_frozen(i)) copy.parameters[i].copy_(state_.parameter(i));
    }
    for (std::size_t i = 0; i < copy.buffers.size(); ++i) copy.buffers[i].copy_(state_.buffer(i));
  }
  return true;
}

bool Replicas::has_fault(std::string_view kind, int replica) const {
  return fault_ && fault_->kind == kind && fault_->step == step_ && replica == layout_.replicas - 1;
}

std::vector<at::Tensor> Replicas::terms_of(int replica, const at::Tensor& loss) {
  std::vector<at::Tensor> terms = Parallelism::terms_of(replica, loss);
  if (!has_fault("replica_gradient_lost", replica)) return terms;
  for (std::size_t i = 1; i < terms.size(); ++i) terms[i] = at::zeros_like(terms[i]);
  return terms;
}

}  // namespace reprobench

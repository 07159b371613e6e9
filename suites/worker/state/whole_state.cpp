#include "suites/worker/state/whole_state.hpp"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include "suites/worker/parallelism/parallelism.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {
namespace {

WholeTensor parameter_of(const TrainState& state, std::size_t index) {
  WholeTensor tensor{state.name(index), TensorRole::parameter, &state.parameter(index)};
  if (!state.sharding().shares_parameters()) {
    tensor.here = tensor.like;
    return tensor;
  }
  tensor.is_shared_out = true;
  tensor.parameter = index;
  if (state.shard(index).defined()) tensor.here = &state.shard(index);
  tensor.first = state.partition().of(state.sharding().rank, index).begin;
  return tensor;
}

WholeTensor kept_of(const TrainState& state, std::size_t index, std::size_t number) {
  const std::string_view suffix = state.optimizer().keeps()[number];
  WholeTensor tensor{state.name(index) + "." + std::string(suffix), TensorRole::optimizer_state,
                     &state.parameter(index)};
  const auto kept = state.kept(index);
  if (!kept.empty()) tensor.here = &kept[number];
  if (!state.sharding().is_on()) return tensor;
  tensor.is_shared_out = true;
  tensor.parameter = index;
  tensor.first = state.partition().of(state.sharding().rank, index).begin;
  return tensor;
}

}  // namespace

std::vector<WholeTensor> whole_tensors(const TrainState& state) {
  std::vector<WholeTensor> tensors;
  for (std::size_t index = 0; index < state.size(); ++index) {
    tensors.push_back(parameter_of(state, index));
    if (state.is_frozen(index)) continue;
    for (std::size_t i = 0; i < state.optimizer().keeps().size(); ++i) tensors.push_back(kept_of(state, index, i));
  }
  for (const StateTensor& tensor : state.tensors()) {
    if (tensor.role == TensorRole::parameter || tensor.role == TensorRole::optimizer_state) continue;
    tensors.push_back({tensor.name, tensor.role, tensor.value, false, tensor.value});
  }
  return tensors;
}

at::Tensor put_together(const WholeTensor& tensor, Parallelism& parallelism) {
  if (!tensor.is_shared_out) return tensor.here->detach();
  return parallelism.whole(tensor.parameter, tensor.here == nullptr ? at::Tensor() : *tensor.here);
}

at::Tensor own_part(const WholeTensor& tensor, const at::Tensor& whole) {
  if (!tensor.is_shared_out) return whole;
  return whole.view({-1}).narrow(0, tensor.first, tensor.here->numel());
}

at::Tensor with_own_part(const WholeTensor& tensor, const at::Tensor& whole) {
  if (!tensor.is_shared_out) return tensor.here->detach();
  if (tensor.here == nullptr) return whole;
  const c10::NoGradGuard no_grad;
  at::Tensor mixed = whole.clone();
  own_part(tensor, mixed).copy_(*tensor.here);
  return mixed;
}

}  // namespace reprobench

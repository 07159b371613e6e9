// The state of a training as one rank alone would have it, however it is sharded over ranks. A checkpoint holds it in
// this form, so that any layout of the same micro-batches can resume from it.
//
//   fc1.weight          here on every rank, or (ZeRO 3) the shard of each
//   fc1.weight.exp_avg  here on every rank, or (ZeRO 1 and up) the shard of each
//   loss_scale          here on every rank
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "matrix/contract/trace.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

class Parallelism;
class TrainState;

// One tensor of the whole state. It refers to the state, which must outlive it.
struct WholeTensor {
  std::string name;
  TensorRole role = TensorRole::parameter;
  const at::Tensor* like = nullptr;  // of the whole's shape and type; if it is sharded its contents have no meaning
  bool is_shared_out = false;
  const at::Tensor* here = nullptr;  // all of it, or if sharded this rank's run of elements; null: it has none
  std::size_t parameter = 0;         // if it is sharded: the parameter it belongs to,
  std::int64_t first = 0;            // and the element with which `here` begins
};

// All tensors in the order of TrainState::tensors(), the same on every rank.
std::vector<WholeTensor> whole_tensors(const TrainState& state);

// The whole tensor, on every rank; a collective if it is sharded.
at::Tensor put_together(const WholeTensor& tensor, Parallelism& parallelism);

// The part of `whole` that this rank has, in the shape of `here`, as a view. `tensor.here` must not be null.
at::Tensor own_part(const WholeTensor& tensor, const at::Tensor& whole);

// `whole` with this rank's part replaced by the rank's own memory; a copy if that part is less than all.
at::Tensor with_own_part(const WholeTensor& tensor, const at::Tensor& whole);

}  // namespace reprobench

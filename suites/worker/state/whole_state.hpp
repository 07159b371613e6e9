// The state of a training as one rank alone would have it, whatever its ranks share out: what a checkpoint holds, so
// that any layout of the same micro-batches can go on from it.
//
//   fc1.weight          here on every rank, or (ZeRO 3) of each its shard
//   fc1.weight.exp_avg  here on every rank, or (ZeRO 1 and up) of each its shard
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

// One of its tensors. It refers to the state, which must outlive it.
struct WholeTensor {
  std::string name;
  TensorRole role = TensorRole::parameter;
  const at::Tensor* like =
      nullptr;  // of the whole's shape and type; what it holds is of no meaning if it is shared out
  bool is_shared_out = false;
  const at::Tensor* here =
      nullptr;                // all of it, or of what is shared out this rank's run of elements; null: it has none
  std::size_t parameter = 0;  // of what is shared out: whose it is,
  std::int64_t first = 0;     // and which of its elements `here` begins with
};

// In the order of TrainState::tensors(), the same on every rank.
std::vector<WholeTensor> whole_tensors(const TrainState& state);

// All of it on every rank: a collective if it is shared out.
at::Tensor put_together(const WholeTensor& tensor, Parallelism& parallelism);

// What this rank has of `whole`, in the shape of `here`, as a view. `tensor.here` is not null.
at::Tensor own_part(const WholeTensor& tensor, const at::Tensor& whole);

// `whole`, but what this rank has of it as it lies in its memory; a copy where that is less than all.
at::Tensor with_own_part(const WholeTensor& tensor, const at::Tensor& whole);

}  // namespace reprobench

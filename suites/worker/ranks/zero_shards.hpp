// The exchange between ranks over which the optimizer's state is sharded (ZeRO), so that each does its part of the
// update and all get all parameters. Every rank calls the same functions in the same order.
//
//   stage 1: every rank has all gradients, updates its shard of each parameter and gets the others' shards.
//   stage 2: a rank gets only its own shard of all gradients, from every rank, and adds these up.
//   stage 3: a rank keeps only its shard of each parameter; gathered_parameters.hpp has them whole while they are read.
//
// Stage 2 adds up in the tree of neighbours of gradient_sum.hpp, element by element, and optimizers are element-wise,
// so every stage makes the bits of one rank by construction.
#pragma once

#include <cstdint>
#include <vector>

#include "suites/worker/ranks/partition.hpp"
#include "suites/worker/state/train_state.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

class RankGroup;

class ZeroShards {
 public:
  // `state` is sharded. Both references must outlive this.
  ZeroShards(RankGroup& ranks, TrainState& state) : ranks_(ranks), state_(state) {}

  const Sharding& sharding() const { return state_.sharding(); }

  // For stages 2 and 3. `own` has this rank's sums of its micro-batches' gradients by parameter, undefined where no
  // rank has one. Leaves this rank's shard of the sum over all ranks, times `share`, as the gradients of the state's
  // shards, and nothing else.
  void reduce_gradients(std::vector<at::Tensor> own, double share);

  // Gathers every rank's shards into all parameters (stages 1 and 2: updated ones), or into one.
  void gather_parameters() { gather(state_.partition()); }
  void gather_parameter(std::size_t index);

  // A parameter (or its gradient, or its optimizer state), put together in its shape from the pieces of all ranks.
  // `piece` is this rank's, undefined where it holds none. It is for the record, not for the training.
  at::Tensor whole(std::size_t parameter, const at::Tensor& piece);

  // The norm for stages 2 and 3, over the gradients of all shards, added up in the order of state/gradient_norm.hpp.
  double gradient_norm();

 private:
  // The numbers of every rank, in the order of ranks; each rank has as many as `counts` says.
  std::vector<double> all_numbers(const std::vector<double>& own, const std::vector<std::int64_t>& counts);
  void gather(const Partition& parameters);
  at::Tensor gathered(const at::Tensor& own);

  RankGroup& ranks_;
  TrainState& state_;
};

}  // namespace reprobench

// Losses and gradients of a step's micro-batches become one, in one order of summation whatever the layout: pairs of
// neighbours, then pairs of those, (0 + 1) + (2 + 3). What one rank adds up alone is then a subtree of the same tree as
// long as its number of micro-batches is a power of two, so one rank with four of them, two with two and four with one
// make the same bits by construction. Gloo's all-reduce promises no order and takes another with another number of
// ranks and elements, so ranks gather what each has and add it up themselves, every one the same. Replicas of one
// process are added up as ranks are, where they lie: the sum is element by element, so which bucket an element was sent
// in changes no bit.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "suites/worker/ranks/layout.hpp"
#include "suites/worker/ranks/overlapped_exchange.hpp"
#include "suites/worker/state/train_state.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

class RankGroup;
class Replicas;
class ZeroShards;

// Lists of tensors, added element by element.
class PairwiseSum {
 public:
  PairwiseSum();
  ~PairwiseSum();
  void add(std::vector<at::Tensor> terms);  // each list like the first
  std::vector<at::Tensor> take();           // the sum of all; starts anew

 private:
  struct Partial;
  void add_last_two();

  std::vector<Partial> partials_;  // of ever fewer terms
};

class GradientSum {
 public:
  // `ranks` may be null: then there is one; `replicas`: one; `shards`: every rank has all of the state; `overlapped`:
  // gradients are exchanged here. All must outlive this.
  GradientSum(const Layout& layout, RankGroup* ranks, const Replicas* replicas, ZeroShards* shards,
              OverlappedExchange* overlapped, TrainState& state);

  // Takes in the gradients of the micro-batch that the replica has just differentiated.
  void add(const at::Tensor& loss, int replica = 0);

  // The mean over all micro-batches of all ranks, or of all replicas: gradients into the state, the loss comes back.
  // Every rank has the same bits, or (ZeRO 2) its shard of them.
  at::Tensor finish();

  // Of the last finish(); nothing where gradients were exchanged here.
  const std::optional<ExchangeTimes>& overlapped() const { return times_; }

 private:
  const at::Tensor& gradient(int replica, std::size_t parameter) const;
  at::Tensor finish_shards(std::vector<at::Tensor> sums, double share);
  void add_over_ranks(std::vector<at::Tensor>& terms) const;
  std::vector<at::Tensor> gathered(const std::vector<at::Tensor>& bucket) const;

  const Layout& layout_;
  RankGroup* ranks_;
  const Replicas* replicas_;
  ZeroShards* shards_;
  OverlappedExchange* overlapped_;
  TrainState& state_;
  std::deque<PairwiseSum> own_;  // of each replica
  std::optional<ExchangeTimes> times_;
};

}  // namespace reprobench

// ZeRO 3: parameters that are whole only while an operator reads them. A rank keeps its shard of each. Before an
// operator runs, forward or backward, the parameters among its inputs are gathered from all ranks; those that were
// whole before are dropped. So at any moment the parameters of one operator are whole, for example weight and bias of a
// linear layer.
//
// Models know nothing of it. LibTorch shows every operator before it runs (RecordFunction), and a view, or a tensor
// that autograd saved for the backward pass, has the memory of its parameter. An operator that is not shown would read
// a tensor without memory, which ends the run.
//
// Gradients of whole parameters are reduced and dropped as they come, unless a rank does several micro-batches. Then
// they are added up first, as ZeRO 2 does, so that bits are those of any layout.
//
// Every rank runs the same operators in the same order, so all of them gather and reduce the same. This works on the
// CPU alone: a GPU's backward pass runs on another thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "suites/worker/state/train_state.hpp"

namespace c10 {
struct StorageImpl;
}

namespace reprobench {

class ZeroShards;

class GatheredParameters {
 public:
  // Called for a parameter whose gradient is there, before that is reduced and dropped; may change the gradient.
  using GradientSeen = std::function<void(std::size_t)>;

  // `share` is the factor of gradients as they are reduced. With 0 they are not reduced but left to the code that adds
  // up micro-batches. All references must outlive this.
  GatheredParameters(ZeroShards& shards, TrainState& state, double share, GradientSeen seen);
  ~GatheredParameters();
  GatheredParameters(const GatheredParameters&) = delete;
  GatheredParameters& operator=(const GatheredParameters&) = delete;

  // Runs a forward or backward pass of this thread; afterwards no parameter is whole. Throws what the pass throws, or
  // the failure of a gathering if that came first.
  void during(const std::function<void()>& pass);

  // Whether the gradients of a pass are the sums over all ranks when it has ended.
  bool reduces_at_once() const { return share_ != 0; }

  std::int64_t gathered() const { return gathered_; }  // parameters so far, each counted as often as it was gathered

 private:
  struct Watch;

  void before_operator(const std::vector<std::size_t>& parameters);
  void reduce_pending();
  void drop_all_but(const std::vector<std::size_t>& kept);

  ZeroShards& shards_;
  TrainState& state_;
  double share_;
  GradientSeen seen_;
  std::unordered_map<const c10::StorageImpl*, std::size_t> by_memory_;
  std::vector<std::size_t> whole_;
  std::vector<std::size_t> pending_;  // parameters whose gradient has come
  bool is_busy_ = false;              // while it gathers: its own operators are not looked at
  std::exception_ptr failure_;        // LibTorch swallows what a callback throws
  std::int64_t gathered_ = 0;
};

}  // namespace reprobench

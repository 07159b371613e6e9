// Replicas of a training's model in one process, as torch.nn.DataParallel has them: each works on its own part of the
// step's batch, with its own copy of the weights, in its own thread. Replica 0 is the training's state itself:
// gradients become one there (ranks/gradient_sum.hpp), the optimizer steps there, and the others get its new weights.
//
// Running statistics go the way of torch.nn.DataParallel too: every replica begins a step with replica 0's, and what
// the others make of them is dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/request.hpp"
#include "suites/worker/state/replica_threads.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {

// "fc1.weight@2": what a trace calls replica 2's copy of a parameter.
std::string name_in_replica(const std::string& parameter, int replica);

class Replicas {
 public:
  // Copies what `state` has now; it must outlive this, and lies on the CPU. `fault` may be one of `replica_stale` (the
  // last replica does not get what the update of its step made) and `replica_gradient_lost` (its gradients of that step
  // are left out of the sum).
  Replicas(int count, TrainState& state, const std::optional<Injection>& fault);
  ~Replicas();
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  int count() const { return count_; }
  const at::Tensor& parameter(int replica, std::size_t index) const;
  const at::Tensor& gradient(int replica, std::size_t index) const;  // undefined as TrainState's
  const at::Tensor& buffer(int replica, std::size_t index) const;

  // Parameters and gradients of all replicas but the first, which are the state's.
  std::int64_t bytes() const;

  void begin_step(std::int64_t step) { step_ = step; }

  // Runs `work` once for each replica, at the same time. Operators of the first alone are shown to a hook
  // (operator_hook.hpp), so a fault in operators is in the first alone.
  void at_once(const std::function<void(int replica)>& work);

  // Of all replicas but the first.
  void clear_gradients();
  void scale_gradients(double factor);
  void take_weights();  // the trained parameters and the buffers that the first has now

  // For the sum of gradients: a planted fault leaves that replica's out.
  bool loses_gradients(int replica) const;

 private:
  struct Copy;
  bool has_fault(std::string_view kind, int replica) const;

  int count_;
  TrainState& state_;
  std::optional<Injection> fault_;
  std::int64_t step_ = 0;
  std::vector<Copy> copies_;  // of replica 1 and so on
  ReplicaThreads threads_;    // end before what they work on goes
};

}  // namespace reprobench

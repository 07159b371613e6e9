// Replicas of a training's model in one process, as torch.nn.DataParallel has them. Each works on its own part of the
// step's batch, with its own copy of the weights, in its own thread. Replica 0 is the training's state itself:
// gradients are added up there, the optimizer steps there, and the others get its new weights.
//
// Running statistics are handled as in torch.nn.DataParallel too: every replica begins a step with replica 0's, and the
// changes of the others are dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/request.hpp"
#include "suites/worker/parallelism/parallelism.hpp"
#include "suites/worker/state/replica_threads.hpp"

namespace reprobench {

class Replicas final : public Parallelism {
 public:
  // The state is on the CPU. `fault` may be one of `replica_stale` and `replica_gradient_lost`. With the first, the
  // last replica does not get the weights of that step's update; with the second, its gradients of that step are left
  // out of the sum.
  Replicas(const Layout& layout, TrainState& state, const std::optional<Injection>& fault);
  ~Replicas() override;

  void begin() override;  // copies what the state has now
  void begin_step(std::int64_t step) override { step_ = step; }

  // Operators of the first replica alone are shown to a hook (operator_hook.hpp), so a fault in operators is in the
  // first alone.
  void forward(const ReplicaWork& work) override { at_once(work); }
  void backward(double, const ReplicaWork& work) override { at_once(work); }

  const at::Tensor& parameter(int replica, std::size_t index) const override;
  const at::Tensor& buffer(int replica, std::size_t index) const override;
  void unscale_gradients(double factor) override;
  void clear_gradients() override;
  bool spread_update(const TensorGuard&) override;

 protected:
  std::vector<at::Tensor> terms_of(int replica, const at::Tensor& loss) override;
  std::int64_t bytes_beside_state() const override;  // parameters and gradients of all replicas but the first

 private:
  struct Copy;
  void at_once(const ReplicaWork& work);
  bool has_fault(std::string_view kind, int replica) const;

  std::optional<Injection> fault_;
  std::int64_t step_ = 0;
  std::vector<Copy> copies_;  // of replica 1 and so on
  ReplicaThreads threads_;    // end before the data they work on is destroyed
};

}  // namespace reprobench

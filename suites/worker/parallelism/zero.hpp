// Ranks over which the state is sharded by the stages of ZeRO (ranks/zero_shards.hpp).
#pragma once

#include "suites/worker/parallelism/data_parallel.hpp"
#include "suites/worker/ranks/gathered_parameters.hpp"
#include "suites/worker/ranks/zero_shards.hpp"

namespace reprobench {

class ZeroStage1 : public DataParallel {
 public:
  using DataParallel::DataParallel;
  bool spread_update(const TensorGuard& guard) override;
  at::Tensor whole(std::size_t parameter, const at::Tensor& piece) override;

 protected:
  ZeroShards shards_{ranks_, state_};
};

class ZeroStage2 : public ZeroStage1 {
 public:
  using ZeroStage1::ZeroStage1;
  double gradient_norm() override { return shards_.gradient_norm(); }

 protected:
  at::Tensor finish(std::vector<at::Tensor> sums, double share) override;
};

class ZeroStage3 final : public ZeroStage2 {
 public:
  using ZeroStage2::ZeroStage2;
  at::Tensor run(StepPasses& step) override;
  void forward(const ReplicaWork& work) override;
  void backward(double unscale, const ReplicaWork& work) override;
  void unscale_gradients(double factor) override;
  bool spread_update(const TensorGuard&) override { return false; }  // the next pass gathers what it reads

 private:
  // The factor of gradients as they are reduced. It is 0 for several micro-batches, whose gradients are added up first.
  double share_at_once() const { return layout_.accumulated == 1 ? 1.0 / layout_.ranks : 0; }
  void gradient_came(std::size_t parameter);

  GatheredParameters gathered_{shards_, state_, share_at_once(), [this](std::size_t i) { gradient_came(i); }};
  double unscale_ = 1;          // of the current backward pass
  StepPasses* step_ = nullptr;  // the passes that it belongs to
};

}  // namespace reprobench

// One step of a training: forward and backward pass of each micro-batch, one gradient from all of them, the check that
// it is finite, clipping, the update. The training's layout decides in which order the passes are done, and who does
// them (parallelism/parallelism.hpp). Phases are timed as they end. On a device that records, the fourth step is
// recorded and later ones launch it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "suites/worker/loop_context.hpp"
#include "suites/worker/training.hpp"

namespace reprobench {

struct StepOutcome {
  Outputs outputs;                   // with several micro-batches, those of the last one
  std::unique_ptr<at::Tensor> loss;  // the mean over all of them
  std::int64_t data_wait_ns = 0;
  std::optional<double> grad_norm = {};  // before clipping, where the step clips
  bool is_clipped = false;
  std::optional<double> loss_scale = {};        // where the scale is dynamic
  std::optional<ExchangeTimes> exchanged = {};  // where the exchange overlaps the backward pass
  bool is_skipped = false;                      // nothing was updated, because a gradient is not finite
  std::unique_ptr<StepTimer> timer;

  StepOutcome();
  ~StepOutcome();
  StepOutcome(StepOutcome&& from) noexcept;
};

// The outputs in fp32 or wider, in which a loss is summed up.
Outputs widened(Outputs outputs);

class TrainingSteps {
 public:
  // The steps of a run that begins with `first_step`; `run` must outlive this.
  TrainingSteps(Training& run, std::int64_t first_step);
  ~TrainingSteps();

  // Gradients stay until the next step, so that they can be recorded.
  StepOutcome run(std::int64_t step);

 private:
  struct Replica;
  class Passes;

  StepOutcome run_operators(std::int64_t step);
  StepOutcome launch_recorded(std::int64_t step);
  void forward(std::int64_t round);
  void forward_of(int replica, std::int64_t round);
  void backward(std::int64_t round);
  void backward_of(const at::Tensor& loss) const;
  void judge_gradients(StepOutcome& outcome);
  void update(std::int64_t step, StepOutcome& outcome);
  at::Tensor& loss(int replica, std::int64_t round);

  Training& run_;
  std::int64_t first_step_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<at::Tensor> losses_;  // one for each of this rank's micro-batches, from its forward pass on
  std::unique_ptr<RecordedWork> work_;
};

}  // namespace reprobench

// One step of a training: forward and backward pass of each micro-batch, one gradient out of all of them, whether it is
// finite, clipping, the update. Replicas of the model do as many micro-batches at the same time as there are replicas,
// all forward passes and then all backward passes. Phases are timed as they end. On a device that records, the fourth
// step is recorded and later ones launch it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "suites/worker/loop_context.hpp"
#include "suites/worker/training_run.hpp"

namespace reprobench {

struct StepOutcome {
  Outputs outputs;                   // of several micro-batches the last one's
  std::unique_ptr<at::Tensor> loss;  // the mean over all of them
  std::int64_t data_wait_ns = 0;
  std::optional<double> grad_norm = {};  // before clipping, where the step clips
  bool is_clipped = false;
  std::optional<double> loss_scale = {};        // where that is dynamic
  std::optional<ExchangeTimes> exchanged = {};  // where that goes on beside the backward pass
  bool is_skipped = false;                      // nothing was updated, because a gradient is not finite
  std::unique_ptr<StepTimer> timer;

  StepOutcome();
  ~StepOutcome();
  StepOutcome(StepOutcome&& from) noexcept;
};

// In fp32 or wider, in which a loss is summed up.
Outputs widened(Outputs outputs);

class TrainingSteps {
 public:
  // Of a run that begins with `first_step`; `run` must outlive this.
  TrainingSteps(const TrainingRun& run, std::int64_t first_step);
  ~TrainingSteps();

  // Gradients stay until the next step, so that they can be recorded.
  StepOutcome run(std::int64_t step);

 private:
  StepOutcome run_operators(std::int64_t step);
  StepOutcome launch_recorded(std::int64_t step);
  struct OtherReplica;

  void clear_gradients();
  void enter_round(std::int64_t round);
  void forward(StepOutcome& outcome);
  void forward_of(LoopContext& context, Outputs& outputs, at::Tensor& loss);
  void backward(std::int64_t step, StepOutcome& outcome);
  void backward_of(const at::Tensor& loss) const;
  void add_gradients(const StepOutcome& outcome);
  void judge_gradients(StepOutcome& outcome);
  void update(std::int64_t step, StepOutcome& outcome);

  const TrainingRun& run_;
  std::int64_t first_step_;
  LoopContext context_;
  std::vector<std::unique_ptr<OtherReplica>> others_;  // of replica 1 and so on
  StepOutcome recorded_;                               // what a recording writes into
  std::unique_ptr<RecordedWork> work_;
};

}  // namespace reprobench

// Turns each step into its trace lines and extends the chain of digests. Everything here runs outside the timed phases,
// except that at levels that record every tensor a tap keeps a reference to its tensor.
//
// A step is captured when its work is queued and completed when the device has done it; the recorder keeps the steps in
// between, oldest first.
//
// Level `step`: a root over loss, outputs (with several micro-batches, the last one's) and sample indices every step;
// every kStateEvery steps and on the last one also parameters (frozen ones too), optimizer state and buffers, the
// gradient norm and the resident set. Level `tensor`: a root over every tensor of the step, in the order the step meets
// them, with sketches on the steps 1, 2, 5, 10, 20, 50 ... and the last. Level `recent`: the same, but of the steps
// without sketches only the last ones stay on record (contract/recent_tensors.hpp). A tensor of one of several
// micro-batches has that one's number in its name (Layout::named). Losses and gradients without a number are the means
// over all micro-batches, the same on every rank. With several replicas in one process the first one's state is
// recorded, and the parameters of each other one as well. Their names have the replica: replica 2's is `fc1.weight@2`.
//
// Tensors that are sharded over ranks (ZeRO) are put together for a trace of every tensor and recorded whole, so that
// layouts can be compared. Only ranks that hold a part of a tensor record it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/digest/digest.hpp"
#include "matrix/contract/state_cadence.hpp"
#include "matrix/contract/trace.hpp"
#include "suites/worker/data/batch_source.hpp"
#include "suites/worker/device.hpp"
#include "suites/worker/parallelism/parallelism.hpp"
#include "suites/worker/record/trace_writer.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {

class StepRecorder {
 public:
  // The chain starts from the workload's digest. All references must outlive the recorder.
  StepRecorder(TraceLevel level, std::int64_t steps, const Digest& workload, const TrainState& state,
               Parallelism& parallelism, const BatchSource& batches, ComputeDevice& device, TraceWriter& trace);
  ~StepRecorder();
  StepRecorder(const StepRecorder&) = delete;
  StepRecorder& operator=(const StepRecorder&) = delete;

  void before_step(std::int64_t step);
  // Each replica's thread may show its own tensors, and the backward pass its gradients, while other threads do so.
  void tap(const at::Tensor& value, std::string_view name, int replica = 0);
  void mask(const at::Tensor& mask, std::string_view event, int replica = 0);
  void choice(const at::Tensor& scores, std::string_view event, int replica = 0);

  // The gradients of each replica's micro-batch of that round, which are about to be added to those of others.
  void micro_batch_gradients(std::int64_t round);
  void micro_batch_gradient(std::size_t parameter, std::int64_t number);  // before it is reduced to this rank's shard

  // `measured` comes with step, learning rate and samples; the rest is filled in here or when the step is completed.
  void capture(StepMeasurement measured, std::unique_ptr<StepTimer> timer, std::span<const at::Tensor> outputs,
               const at::Tensor& loss);
  std::size_t in_flight() const { return captured_.size(); }

  // Waits for the oldest captured step and writes it.
  StepMeasurement complete_oldest();

  // The state after the last step, when all are completed.
  void finish();

  const Digest& chain() const { return chain_; }

 private:
  struct Tapped;
  struct Gradient;
  struct Shown;
  struct Captured {
    StepMeasurement measured;
    std::unique_ptr<StepTimer> timer;
    std::unique_ptr<PendingReadback> readback;
    std::size_t outputs;  // how many the model has
    Digest samples;
    TensorsRecord tensors;  // unless the level is `step`
  };

  void add_tensor(std::string_view name, TensorRole role, const at::Tensor& tensor);
  void add_event(const Tapped& event, StepMeasurement& measured);
  void add_state(TensorRole role);
  void add_gradients();
  void add_replicas();
  bool measures_state(std::int64_t step) const;
  bool is_sketched(std::int64_t step) const;
  std::vector<at::Tensor> step_tensors(std::int64_t step, std::span<const at::Tensor> outputs,
                                       const at::Tensor& loss) const;
  void collect_tensors(StepMeasurement& measured, const at::Tensor& loss);
  Digest root_of(const Captured& captured, const std::vector<Digest>& digests);

  TraceLevel level_;
  std::int64_t steps_;  // those of the workload; a replay may do fewer
  std::int64_t steps_done_ = 0;
  const TrainState& state_;
  Parallelism& parallelism_;
  const BatchSource& batches_;
  ComputeDevice& device_;
  TraceWriter& trace_;
  Digest chain_;
  std::deque<Captured> captured_;
  std::vector<Shown> shown_;  // by each replica
  std::vector<Gradient> of_micro_batches_;
  bool with_sketches_ = false;
  TensorsRecord tensors_;
  DigestBuilder builder_;
};

}  // namespace reprobench

// The parts of a training while it runs. The train loop makes and owns them; its steps work on them.
#pragma once

#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/checkpoint/checkpoints.hpp"
#include "suites/worker/data/batch_source.hpp"
#include "suites/worker/device.hpp"
#include "suites/worker/faults/faults.hpp"
#include "suites/worker/ranks/gathered_parameters.hpp"
#include "suites/worker/ranks/gradient_sum.hpp"
#include "suites/worker/ranks/overlapped_exchange.hpp"
#include "suites/worker/ranks/zero_shards.hpp"
#include "suites/worker/record/step_recorder.hpp"
#include "suites/worker/record/trace_writer.hpp"
#include "suites/worker/replay/replay.hpp"
#include "suites/worker/state/loss_scaler.hpp"
#include "suites/worker/state/replicas.hpp"
#include "suites/worker/state/tensor_guard.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {

struct TrainingRun {
  const CellRequest& request;
  const Model& model;
  const ModelPreset& preset;
  const Settings& settings;
  TrainState& state;
  BatchSource& batches;
  ComputeDevice& device;
  StepRecorder& recorder;
  ReplayRecorder& replay;
  Checkpoints& checkpoints;
  GradientSum& gradients;
  ZeroShards* shards;              // null: every rank has all of the state
  GatheredParameters* gathered;    // null: every rank has all parameters whole
  OverlappedExchange* overlapped;  // null: gradients are exchanged after the backward pass
  RankGroup* ranks;                // null: there is one
  Replicas* replicas;              // null: the state is the only one
  LossScaler& scaler;
  const TensorGuard& guard;
  Fault* fault;  // null: none planted
  TraceWriter& trace;
  CellResult& result;

  const Layout& layout() const { return batches.layout(); }
  // A forward or backward pass: what reads parameters.
  template <class Pass>
  void pass(Pass work) const {
    gathered == nullptr ? work() : gathered->during(work);
  }
  // The second of them; gradients that are exchanged meanwhile are those of the loss times 1 / `unscale`.
  template <class Pass>
  void backward_pass(std::int64_t step, double unscale, Pass work) const {
    overlapped == nullptr ? pass(work) : overlapped->during(step, unscale, work);
  }
  // Once for each replica, at the same time.
  void at_once(const std::function<void(int replica)>& work) const {
    replicas == nullptr ? work(0) : replicas->at_once(work);
  }
  bool fault_acts(FaultPhase phase, std::int64_t step) const { return fault != nullptr && fault->act(phase, step); }
};

}  // namespace reprobench

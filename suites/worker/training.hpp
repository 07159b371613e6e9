// The parts of a training, in the order they are made: each may read the parts above it, and is destroyed before them.
// The train loop owns one training; its steps work on the parts.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "kernels/digest/digest.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/contract/turn_wait.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/checkpoint/checkpoints.hpp"
#include "suites/worker/data/batch_source.hpp"
#include "suites/worker/device.hpp"
#include "suites/worker/faults/faults.hpp"
#include "suites/worker/parallelism/parallelism.hpp"
#include "suites/worker/peak_memory.hpp"
#include "suites/worker/ranks/layout.hpp"
#include "suites/worker/record/step_recorder.hpp"
#include "suites/worker/record/trace_writer.hpp"
#include "suites/worker/replay/replay.hpp"
#include "suites/worker/state/loss_scaler.hpp"
#include "suites/worker/state/tensor_guard.hpp"
#include "suites/worker/state/train_state.hpp"
#include "suites/worker/train_loop.hpp"
#include "suites/worker/weights/own_weights.hpp"

namespace reprobench {

// The request as this process carries it out. Whatever can be refused before memory is taken and before ranks meet is
// refused while the plan is made. So no rank waits for one that will not come.
struct TrainingPlan {
  Settings settings;
  Layout layout;
  const Model& model;
  ModelPreset preset;
  std::unique_ptr<ComputeDevice> device;
  std::optional<std::string> own_data;  // the text of the user's file
  std::optional<OwnWeights> own_weights;
};

// Opens the device and reads the user's own files. Facts are in `result` as soon as they are known. Throws RunFailure
// with the cause of a refusal (request_checks.hpp).
TrainingPlan plan_training(const CellRequest& request, CellResult& result, OpenDevice open,
                           const WorkloadTables& tables);

struct Training {
  // Meets the other ranks, resumes from a checkpoint or a replay's state where the request says so, and begins the
  // trace. `rank_folder` is this rank's. Throws RunFailure; facts found before that are in `result` all the same.
  // Request and result must outlive it.
  Training(const CellRequest& request, const std::filesystem::path& rank_folder,
           const std::filesystem::path& data_folder, CellResult& result, OpenDevice open, const WorkloadTables& tables);

  const Layout& layout() const { return plan.layout; }
  std::int64_t first_step() const;

  const CellRequest& request;
  CellResult& result;
  const std::filesystem::path folder;
  PeakMemory memory;
  TrainingPlan plan;
  TrainState state;
  LossScaler scaler;
  BatchSource batches;
  Fault fault;
  const Digest workload;
  const std::unique_ptr<Parallelism> parallelism;
  Checkpoints checkpoints;
  TraceWriter trace;
  ReplayRecorder replay;
  StepRecorder recorder;
  const TensorGuard guard;
  TurnWait turns;
};

}  // namespace reprobench

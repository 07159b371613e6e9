// The checkpoints of a run (contract/checkpoint.hpp): when one is due, which are kept, and from which one the run
// resumes. The knob `gathered_weights` adds files of weights alone beside them. For a run that asks for no checkpoints
// every member does nothing.
//
// The ranks of a training have one checkpoint together, written by rank 0 in a folder that all of them see. Decisions
// that must be the same on all ranks are exchanged: from which file to resume, and whether to stop. Each rank has to
// find that file whole and its own, by the same checksum. So no rank resumes from another file than the others, or
// stops after another step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "kernels/digest/digest.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/checkpoint/checkpoint_file.hpp"
#include "suites/worker/state/train_state.hpp"
#include "suites/worker/weights/gathered_weights.hpp"

namespace reprobench {

class ComputeDevice;
class Parallelism;

// The parts of a run that its checkpoints use; all must outlive the checkpoints.
struct CheckpointedRun {
  const Model& model;
  const ModelPreset& preset;
  TrainState& state;
  Parallelism& parallelism;
  ComputeDevice& device;
};

class Checkpoints {
 public:
  // If the request says so, puts the newest whole checkpoint of this run into its state. Newer ones that are not whole,
  // or another run's, are on record with the reason. Everything is written into `result` as it happens. Throws
  // RunFailure "bad_request" for a fault that does not fit, or for weights that are to be written where no checkpoint
  // is.
  Checkpoints(const CellRequest& request, const Digest& workload, const CheckpointedRun& run, CellResult& result);

  // The chain of the steps before the first one: the workload's digest, or the checkpoint's.
  const Digest& chain_before() const { return chain_before_; }
  std::int64_t first_step() const { return first_step_; }
  const std::optional<ResumedFrom>& resumed() const { return resumed_; }

  // The step whose batch a step loads: its own, except with a planted fault.
  std::int64_t data_step(std::int64_t step) const { return step - forgotten_steps_; }

  bool are_written() const { return asked_.has_value(); }
  bool is_due(std::int64_t step) const;

  // Whether any rank was asked to stop, with the same answer on all of them. Without checkpoints it is only whether
  // this rank was, since such a run exchanges nothing beyond its step.
  bool stops_if(bool is_asked) const;

  // Called by every rank, each with its chain. Throws RunFailure "unsupported" if buffers are not the same on all of
  // them.
  void write(std::int64_t step, const Digest& chain);

 private:
  void open_folder(const CellRequest& request);
  void resume(const CellRequest& request);
  std::unique_ptr<Checkpoint> open(std::int64_t step, const std::string& file, const CellRequest& request) const;
  std::string refused_elsewhere(const Checkpoint* checkpoint) const;
  void take_from(const Checkpoint& checkpoint, const std::string& file, const CellRequest& request);
  std::string state_digest(const Checkpoint& checkpoint) const;
  Digest chain_of_all(const Digest& chain) const;
  void check_buffers(std::int64_t step) const;
  void write_files(std::int64_t step, const Digest& chain_of_ranks, const NamedTensors& tensors);
  bool writes() const;
  void drop_older(std::int64_t newest);

  std::optional<Checkpointing> asked_;
  std::filesystem::path folder_;
  CheckpointOwner owner_;
  std::string nonce_;
  const Model& model_;
  const ModelPreset& preset_;
  TrainState& state_;
  Parallelism& parallelism_;
  ComputeDevice& device_;
  std::optional<HalfType> gathered_;  // the type of the weights written beside each
  CellResult& result_;
  Digest chain_before_;
  std::int64_t first_step_ = 1;
  std::int64_t forgotten_steps_ = 0;
  std::optional<ResumedFrom> resumed_;
  std::set<std::string> refused_;
};

}  // namespace reprobench

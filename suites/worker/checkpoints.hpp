// The checkpoints of a run (contract/checkpoint.hpp): when one is due, which stay, and from which one the run goes on.
// For a run that asks for none every member does nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "kernels/digest/digest.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "suites/worker/checkpoint_file.hpp"
#include "suites/worker/train_state.hpp"

namespace reprobench {

class ComputeDevice;

class Checkpoints {
 public:
  // Where the request says so, puts the newest whole checkpoint of this run into `state`; those that are newer and not
  // whole, or another run's, are on record with the reason. Everything is written into `result` as it happens. Throws
  // RunFailure "bad_request" for a fault that does not fit, "unsupported" for several ranks.
  Checkpoints(const CellRequest& request, const Digest& workload, TrainState& state, ComputeDevice& device,
              CellResult& result);

  // Of the steps before the first one: the workload's digest, or what the checkpoint says.
  const Digest& chain_before() const { return chain_before_; }
  std::int64_t first_step() const { return first_step_; }
  const std::optional<ResumedFrom>& resumed() const { return resumed_; }

  // Which step's batch a step loads: its own, but for a planted fault.
  std::int64_t data_step(std::int64_t step) const { return step - forgotten_steps_; }

  bool are_written() const { return asked_.has_value(); }
  bool is_due(std::int64_t step) const;
  void write(std::int64_t step, const Digest& chain);

 private:
  void open_folder(const CellRequest& request);
  void resume(const CellRequest& request);
  void take_from(const Checkpoint& checkpoint, const std::string& file, const CellRequest& request);
  std::string state_digest() const;
  void drop_older(std::int64_t newest);

  std::optional<Checkpointing> asked_;
  std::filesystem::path folder_;
  CheckpointOwner owner_;
  std::string nonce_;
  TrainState& state_;
  ComputeDevice& device_;
  CellResult& result_;
  Digest chain_before_;
  std::int64_t first_step_ = 1;
  std::int64_t forgotten_steps_ = 0;
  std::optional<ResumedFrom> resumed_;
  std::set<std::string> refused_;
};

}  // namespace reprobench

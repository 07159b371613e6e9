// The files that a replay (contract/replay.hpp) keeps of a run, beside its trace: states, operator calls, gradients.
// For a run that is no replay, every member does nothing.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "kernels/digest/digest.hpp"
#include "matrix/contract/request.hpp"
#include "suites/worker/faults/operator_fault.hpp"
#include "suites/worker/record/operator_trace.hpp"
#include "suites/worker/record/tensor_file.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {

class ReplayRecorder {
 public:
  // Loads the state to start from, and writes the state before the first step if that is asked for. Throws RunFailure
  // "bad_request" for a state that is not this run's. `fault` may be null; it acts before a call is recorded.
  ReplayRecorder(const CellRequest& request, const std::filesystem::path& folder, std::uint64_t seed,
                 const Digest& workload, TrainState& state, OperatorFault* fault);
  ~ReplayRecorder();
  ReplayRecorder(const ReplayRecorder&) = delete;
  ReplayRecorder& operator=(const ReplayRecorder&) = delete;

  // The chain of the steps before the first one: the workload's digest, or the loaded state's.
  const Digest& chain_before() const { return chain_before_; }

  // False if every step starts from the same state.
  bool updates() const;

  void begin_step(std::int64_t step);
  void enter_pass(const char* pass);
  void end_module(std::string_view name);
  TensorMakers* makers() {
    return recording_ == nullptr ? nullptr : &recording_->makers();
  }  // null in unrecorded steps
  void end_step();
  void after_step(std::int64_t step, const Digest& chain);

 private:
  void write_snapshot_if_asked(std::int64_t steps_done, const Digest& chain) const;
  void write_gradients(std::int64_t step) const;
  void put_buffers_back() const;
  void add_updates(std::int64_t step, NamedTensors& tensors) const;

  const CellRequest& request_;
  std::filesystem::path folder_;
  std::uint64_t seed_;
  Digest workload_;
  TrainState& state_;
  Digest chain_before_;
  std::vector<at::Tensor> held_buffers_;  // of a held state, in the state's order
  std::unique_ptr<OperatorTrace> operators_;
  OperatorTrace* recording_ = nullptr;  // `operators_` during a step it records
  OperatorFault* fault_;
  std::unique_ptr<OperatorHook> hook_;  // during a step that is recorded or at fault
};

}  // namespace reprobench

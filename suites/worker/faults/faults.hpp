// Planted faults: `inject` and `reprobench selftest` spoil a run with them, to show that a detector finds it.
//
// A kind is one row of the table in faults.cpp, or of operator_fault.cpp if it sits in LibTorch's operators. For kinds
// that have a model make other calls, the model asks (StepContext::plants).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "matrix/contract/request.hpp"
#include "suites/worker/data/batch_source.hpp"
#include "suites/worker/faults/operator_fault.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {

// When in its step a fault acts.
enum class FaultPhase { before_step, after_load, after_backward, before_update, instead_of_update, after_update };

class Fault {
 public:
  // The request's fault. If it has none, or one that the checkpoints plant (is_of_resuming), every member does nothing.
  // Throws RunFailure "bad_request" for an unknown kind, a step outside the run, or a tensor or element that is not
  // there. All references must outlive the fault.
  Fault(const CellRequest& request, TrainState& state, BatchSource& batches);

  // Acts if this is the fault's phase and its step, or a later step for a kind that lasts. Returns whether it acted.
  bool act(FaultPhase phase, std::int64_t step);

  // Whether the model is to make the calls of that module as `kind` has them, which holds from the fault's step on.
  bool changes(std::string_view kind, std::string_view module);

  // Call it after an update. Throws RunFailure "bad_request" where no module of the model, or no operator that it
  // calls, is one that the kind changes. A drill that plants nothing would show a blind detector green.
  void check_is_met() const;

  // Null unless the fault sits in operators; those see it from its step on.
  OperatorFault* in_operators() { return in_operators_.get(); }

 private:
  const std::optional<Injection> injection_;
  TrainState& state_;
  BatchSource& batches_;
  std::unique_ptr<OperatorFault> in_operators_;
  std::int64_t step_ = 0;
  bool is_in_model_ = false;
  bool is_met_ = false;
};

}  // namespace reprobench

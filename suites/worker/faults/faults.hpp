// Planted faults: what `inject` and `reprobench selftest` do to a run, to show that a detector finds it.
//
// A kind is one row of the table in faults.cpp, or of operator_fault.cpp if it sits in LibTorch's operators; of those
// that have a model make other calls the model asks (StepContext::plants).
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
  // The request's, unless it has none or one that the checkpoints plant (is_of_resuming): then every member does
  // nothing. Throws RunFailure "bad_request" for an unknown kind, a step outside the run, or a tensor or element that
  // is not there. All references must outlive the fault.
  Fault(const CellRequest& request, TrainState& state, BatchSource& batches);

  // Acts if this is its step, of a kind that lasts or a later one, and its phase; true if it did.
  bool act(FaultPhase phase, std::int64_t step);

  // The model is to make the calls of that module as `kind` has them, from the fault's step on.
  bool changes(std::string_view kind, std::string_view module);

  // After a forward pass. Throws RunFailure "bad_request" where the model was to make other calls and has no module
  // that the kind could change: a drill that plants nothing would show a blind detector green.
  void check_forward() const;

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

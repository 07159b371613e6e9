// Where the tensors of a training have to lie: before and after each phase of a step every parameter, gradient and
// optimizer state is held against what the layout declares of it, so that a tensor in the wrong place is named with the
// setting that put it there. Without it the first kernel that meets two devices says "Expected all tensors to be on the
// same device", of no tensor by name and of no setting.
#pragma once

#include <memory>

#include "matrix/contract/knob.hpp"
#include "suites/worker/train_state.hpp"

namespace reprobench {

// What a step does with the state once gradients are there.
enum class StatePhase { gradients, clip, optimizer, gather };
enum class PhaseSide { before, after };

class TensorGuard {
 public:
  // Of tensors on `where`; `state` must outlive this.
  TensorGuard(const TrainState& state, const c10::Device& where, const KnobValues& resolved);
  ~TensorGuard();

  // Throws RunFailure "device_consistency", for example "before the phase `optimizer`: `fc1.weight.exp_avg`
  // (optimizer_state) is on device meta, expected cpu by `offload: optimizer`".
  void check(PhaseSide side, StatePhase phase) const;

  template <class Work>
  void around(StatePhase phase, Work work) const {
    check(PhaseSide::before, phase);
    work();
    check(PhaseSide::after, phase);
  }

 private:
  struct Declaration;

  const TrainState& state_;
  std::unique_ptr<Declaration> parameters_;  // and gradients
  std::unique_ptr<Declaration> kept_;
};

}  // namespace reprobench

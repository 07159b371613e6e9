// Checks where the tensors of a training lie, before and after each phase of a step. Every parameter, gradient,
// optimizer state, copy on the host and number of the loss scale is compared with the layout's declaration. So a tensor
// in the wrong place is named, with the setting that put it there. Without the guard, the first kernel that meets two
// devices says "Expected all tensors to be on the same device", and names neither a tensor nor a setting.
#pragma once

#include <memory>
#include <optional>

#include "matrix/contract/knob.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {

// The phases in which a run works on the state once gradients are there.
enum class StatePhase { gradients, unscale, clip, optimizer, gather, checkpoint };
enum class PhaseSide { before, after };

class TensorGuard {
 public:
  // The training's tensors are on `where`; `state` must outlive this. Tensors that offload keeps on the host have to be
  // pinned if a GPU trains, unless `is_pinned` says otherwise.
  TensorGuard(const TrainState& state, const c10::Device& where, const Settings& settings,
              std::optional<bool> is_pinned = {});
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
  struct Declarations;

  const TrainState& state_;
  std::unique_ptr<Declarations> declared_;
};

}  // namespace reprobench

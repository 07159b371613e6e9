// Where the tensors of a training have to lie: before and after each phase of a step every parameter, gradient,
// optimizer state, copy on the host and number of the loss scale is held against what the layout declares of it, so
// that a tensor in the wrong place is named with the setting that put it there. Without it the first kernel that meets
// two devices says "Expected all tensors to be on the same device", of no tensor by name and of no setting.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "matrix/contract/knob.hpp"
#include "suites/worker/train_state.hpp"

namespace reprobench {

// What a run does with the state once gradients are there.
enum class StatePhase { gradients, unscale, clip, optimizer, gather, checkpoint };
enum class PhaseSide { before, after };

// What has to hold of a tensor, each with the setting that makes it so; all are strided.
struct Placement {
  c10::Device device;
  std::string device_setting;           // "`offload: optimizer`"
  std::optional<c10::ScalarType> type;  // nothing: any
  std::string type_setting;
  bool is_pinned = false;  // of host memory; what need not be pinned may be
};

// What is wrong with a tensor: "on device meta, expected cpu by `offload: optimizer`".
std::optional<std::string> misplaced(const at::Tensor& tensor, const Placement& expected);

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
  struct Declarations;

  const TrainState& state_;
  std::unique_ptr<Declarations> declared_;
};

}  // namespace reprobench

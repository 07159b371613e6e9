// The scale by which the loss is multiplied before the backward pass, and gradients are divided after it. Gradients
// smaller than fp16's least number would be lost on their way through the network (Micikevicius et al. 2018, "Mixed
// Precision Training", section 3.2). It is a power of two, so no other value is rounded differently, and the same on
// every stack.
//
//   constant  1024 in every step. Should a gradient overflow, the next loss is NaN and ends the run.
//   dynamic   as torch.amp.GradScaler: 65536 at first. A step with a gradient that is not finite updates nothing, not
//             even the optimizer's running products, and halves the scale. `growth_interval` steps in a row that update
//             double it.
//
// The scale and the steps since it changed are tensors of the training's state, `loss_scale` and `growth_tracker`, so
// that checkpoints bring them back and digests cover them.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "matrix/contract/request.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {

inline constexpr double kConstantLossScale = 1024;
inline constexpr float kFirstLossScale = 65536;
inline constexpr std::string_view kLossScaleTensor = "loss_scale";
inline constexpr std::string_view kGrowthTrackerTensor = "growth_tracker";

// One step of a dynamic scale.
struct ScaleState {
  float scale = kFirstLossScale;
  std::int64_t growth_tracker = 0;  // steps that updated since the scale last changed
  bool operator==(const ScaleState&) const = default;
};
ScaleState after_step(ScaleState before, bool is_skipped, std::int64_t growth_interval);

class LossScaler {
 public:
  // Adds its tensors to `state`, which must outlive this. A replay in another precision keeps the state of the run and
  // scales nothing.
  LossScaler(const Settings& settings, TrainState& state);
  ~LossScaler();
  LossScaler(const LossScaler&) = delete;
  LossScaler& operator=(const LossScaler&) = delete;

  bool scales() const { return scales_; }
  bool is_dynamic() const { return scales_ && kept_ != nullptr; }
  double scale() const;  // of the current step
  void update(bool is_skipped);

 private:
  struct Kept;

  ScaleState state() const;

  bool scales_;
  std::int64_t growth_interval_ = 0;
  std::unique_ptr<Kept> kept_;  // null unless the scale is dynamic
};

// Whether every gradient that this rank has is finite, also those of shards.
bool are_gradients_finite(const TrainState& state);

}  // namespace reprobench

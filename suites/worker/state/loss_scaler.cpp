#include "suites/worker/state/loss_scaler.hpp"

#include <cmath>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/GradMode.h>

#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

constexpr float kGrowth = 2;
constexpr float kBackoff = 0.5;

// A float whose exponent is all ones is infinite or no number. Without branches, so that it keeps up with memory.
template <class Bits>
bool has_all_finite(const void* data, std::int64_t count, Bits exponent) {
  const auto* values = static_cast<const Bits*>(data);
  Bits found = 0;
  for (std::int64_t i = 0; i < count; ++i) found |= static_cast<Bits>((values[i] & exponent) == exponent);
  return found == 0;
}

bool is_finite(const at::Tensor& tensor) {
  if (!tensor.device().is_cpu()) return at::isfinite(tensor).all().item().toBool();
  const at::Tensor dense = tensor.contiguous();
  if (dense.scalar_type() == at::kDouble) {
    return has_all_finite<std::uint64_t>(dense.data_ptr(), dense.numel(), 0x7ff0'0000'0000'0000U);
  }
  return has_all_finite<std::uint32_t>(dense.data_ptr(), dense.numel(), 0x7f80'0000U);
}

}  // namespace

// As ATen's _amp_update_scale_.
ScaleState after_step(ScaleState before, bool is_skipped, std::int64_t growth_interval) {
  if (is_skipped) return {before.scale * kBackoff, 0};
  if (before.growth_tracker + 1 < growth_interval) return {before.scale, before.growth_tracker + 1};
  const float grown = before.scale * kGrowth;
  return {std::isfinite(grown) ? grown : before.scale, 0};
}

struct LossScaler::Kept {
  at::Tensor scale;
  at::Tensor growth_tracker;
};

LossScaler::LossScaler(const Settings& settings, TrainState& state)
    : scales_(settings.precision == Precision::fp16), growth_interval_(settings.loss_scale_growth_interval) {
  if (settings.loss_scale != LossScale::dynamic) return;
  const ScaleState first;
  kept_ = std::make_unique<Kept>(
      Kept{at::full({1}, first.scale, at::kFloat), at::full({1}, first.growth_tracker, at::kLong)});
  state.add_tensor(std::string(kLossScaleTensor), TensorRole::scaler_state, kept_->scale);
  state.add_tensor(std::string(kGrowthTrackerTensor), TensorRole::scaler_state, kept_->growth_tracker);
}

LossScaler::~LossScaler() = default;

ScaleState LossScaler::state() const {
  return {*static_cast<const float*>(kept_->scale.data_ptr()),
          *static_cast<const std::int64_t*>(kept_->growth_tracker.data_ptr())};
}

double LossScaler::scale() const { return kept_ == nullptr ? kConstantLossScale : state().scale; }

void LossScaler::update(bool is_skipped) {
  const c10::NoGradGuard no_grad;
  const ScaleState next = after_step(state(), is_skipped, growth_interval_);
  kept_->scale.fill_(next.scale);
  kept_->growth_tracker.fill_(next.growth_tracker);
}

bool are_gradients_finite(const TrainState& state) {
  for (std::size_t i = 0; i < state.size(); ++i) {
    for (const at::Tensor* gradient : {&state.gradient(i), &state.shard_gradient(i)}) {
      if (gradient->defined() && !is_finite(*gradient)) return false;
    }
  }
  return true;
}

}  // namespace reprobench

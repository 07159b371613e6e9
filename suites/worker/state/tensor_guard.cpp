#include "suites/worker/state/tensor_guard.hpp"

#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

#include "suites/worker/knobs/knobs.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {

// What has to hold of a tensor, each with the setting that makes it so; all are strided.
struct TensorPlacement {
  c10::Device device;
  std::string device_setting;          // "`offload: optimizer`"
  std::optional<at::ScalarType> type;  // nothing: any
  std::string type_setting;
  bool is_pinned = false;  // of host memory; what need not be pinned may be
};

namespace {

// "before the phase `clip`"
std::string text_of(PhaseSide side, StatePhase phase) {
  constexpr const char* kPhases[] = {"gradients", "unscale", "clip", "optimizer", "gather", "checkpoint"};
  return std::string(side == PhaseSide::before ? "before" : "after") + " the phase `" +
         kPhases[static_cast<std::size_t>(phase)] + "`";
}

template <auto Member>
std::string quoted(const Settings& settings) {
  return "`" + std::string(knob_for<Member>().name) + ": " + text_of<Member>(settings.*Member) + "`";
}

std::string type_word(at::ScalarType type) { return at::toString(type); }

// What is wrong with a tensor: "on device meta, expected cpu by `offload: optimizer`".
std::optional<std::string> misplaced(const at::Tensor& tensor, const TensorPlacement& expected) {
  if (tensor.device() != expected.device) {
    return "on device " + tensor.device().str() + ", expected " + expected.device.str() + " by " +
           expected.device_setting;
  }
  if (expected.type && tensor.scalar_type() != *expected.type) {
    return "of type " + type_word(tensor.scalar_type()) + ", expected " + type_word(*expected.type) + " by " +
           expected.type_setting;
  }
  if (tensor.layout() != at::kStrided) {
    return tensor.is_sparse() ? "sparse, expected strided" : "of a layout other than strided";
  }
  if (expected.is_pinned && !tensor.is_pinned())
    return "in pageable memory, expected pinned by " + expected.device_setting;
  return std::nullopt;
}

}  // namespace

struct TensorGuard::Declarations {
  TensorPlacement parameters;  // and gradients, where the training runs
  TensorPlacement shards;      // of ZeRO 3
  TensorPlacement kept;        // by the optimizer, and what it updates
  TensorPlacement scalars;
};

TensorGuard::TensorGuard(const TrainState& state, const c10::Device& where, const Settings& settings,
                         std::optional<bool> is_pinned)
    : state_(state) {
  const at::ScalarType type = settings.precision == Precision::fp64 ? at::kDouble : at::kFloat;
  const std::string precision = quoted<&Settings::precision>(settings);
  const std::string offload = quoted<&Settings::offload>(settings);
  const c10::Device host(c10::DeviceType::CPU);
  const TensorPlacement here{where, "`device: " + where.str() + "`", type, precision};
  const TensorPlacement kept_here{where, offload, type, precision};
  const TensorPlacement on_host{host, offload, type, precision, is_pinned.value_or(where.is_cuda())};
  const bool offloads = settings.offload != Offload::none;
  declared_ = std::make_unique<Declarations>(Declarations{
      here, settings.offload == Offload::optimizer_and_param ? on_host : here, offloads ? on_host : kept_here,
      TensorPlacement{host, quoted<&Settings::loss_scale>(settings), {}, ""}});
}

TensorGuard::~TensorGuard() = default;

void TensorGuard::check(PhaseSide side, StatePhase phase) const {
  const auto hold = [&](const at::Tensor& tensor, const TensorPlacement& expected, TensorRole role,
                        const std::string& name) {
    if (!tensor.defined()) return;
    if (const auto problem = misplaced(tensor, expected)) {
      throw RunFailure("device_consistency",
                       text_of(side, phase) + ": `" + name + "` (" + std::string(to_string(role)) + ") is " + *problem);
    }
  };
  for (std::size_t i = 0; i < state_.size(); ++i) {
    hold(state_.parameter(i), declared_->parameters, TensorRole::parameter, state_.name(i));
    hold(state_.gradient(i), declared_->parameters, TensorRole::parameter_gradient, state_.name(i));
    hold(state_.shard(i), declared_->shards, TensorRole::parameter, state_.name(i));
    hold(state_.shard_gradient(i), declared_->parameters, TensorRole::parameter_gradient, state_.name(i));
    hold(state_.copy_on_host(i), declared_->kept, TensorRole::parameter, state_.name(i) + " (copy on the host)");
  }
  for (const StateTensor& tensor : state_.tensors()) {
    if (tensor.role == TensorRole::optimizer_state) hold(*tensor.value, declared_->kept, tensor.role, tensor.name);
    if (tensor.role == TensorRole::scaler_state) hold(*tensor.value, declared_->scalars, tensor.role, tensor.name);
  }
}

}  // namespace reprobench

#include "suites/worker/tensor_guard.hpp"

#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

#include "suites/worker/knobs.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {

// What has to hold of a tensor, each with the setting that makes it so.
struct TensorGuard::Declaration {
  c10::Device device;
  at::ScalarType type;
  std::string device_setting;
  std::string type_setting;
};

namespace {

// "before the phase `clip`"
std::string text_of(PhaseSide side, StatePhase phase) {
  constexpr const char* kPhases[] = {"gradients", "clip", "optimizer", "gather"};
  return std::string(side == PhaseSide::before ? "before" : "after") + " the phase `" +
         kPhases[static_cast<std::size_t>(phase)] + "`";
}

std::string setting(const char* name, const KnobValues& resolved) {
  return std::string("`") + name + ": " + resolved.at(name) + "`";
}

std::string type_word(at::ScalarType type) { return at::toString(type); }

// What is wrong with a tensor: "on device meta, expected cpu by `offload: optimizer`".
template <class Declaration>
std::optional<std::string> problem_of(const at::Tensor& tensor, const Declaration& expected) {
  if (tensor.device() != expected.device) {
    return "on device " + tensor.device().str() + ", expected " + expected.device.str() + " by " +
           expected.device_setting;
  }
  if (tensor.scalar_type() != expected.type) {
    return "of type " + type_word(tensor.scalar_type()) + ", expected " + type_word(expected.type) + " by " +
           expected.type_setting;
  }
  if (tensor.layout() != at::kStrided) {
    return tensor.is_sparse() ? "sparse, expected strided" : "of a layout other than strided";
  }
  return std::nullopt;
}

}  // namespace

TensorGuard::TensorGuard(const TrainState& state, const c10::Device& where, const KnobValues& resolved)
    : state_(state) {
  const at::ScalarType type = precision_of(resolved) == Precision::fp64 ? at::kDouble : at::kFloat;
  const std::string precision = setting("precision", resolved);
  parameters_ = std::make_unique<Declaration>(Declaration{where, type, "`device: " + where.str() + "`", precision});
  const std::string offload = setting("offload", resolved);
  const c10::Device host(c10::DeviceType::CPU);
  kept_ = std::make_unique<Declaration>(
      Declaration{resolved.at("offload") == "optimizer" ? host : where, type, offload, precision});
}

TensorGuard::~TensorGuard() = default;

void TensorGuard::check(PhaseSide side, StatePhase phase) const {
  const auto hold = [&](const at::Tensor& tensor, const Declaration& expected, TensorRole role,
                        const std::string& name) {
    if (!tensor.defined()) return;
    if (const auto problem = problem_of(tensor, expected)) {
      throw RunFailure("device_consistency",
                       text_of(side, phase) + ": `" + name + "` (" + std::string(to_string(role)) + ") is " + *problem);
    }
  };
  for (std::size_t i = 0; i < state_.size(); ++i) {
    hold(state_.parameter(i), *parameters_, TensorRole::parameter, state_.name(i));
    hold(state_.gradient(i), *parameters_, TensorRole::parameter_gradient, state_.name(i));
    hold(state_.shard(i), *parameters_, TensorRole::parameter, state_.name(i));
    hold(state_.shard_gradient(i), *parameters_, TensorRole::parameter_gradient, state_.name(i));
  }
  for (const StateTensor& tensor : state_.tensors()) {
    if (tensor.role == TensorRole::optimizer_state) hold(*tensor.value, *kept_, tensor.role, tensor.name);
  }
}

}  // namespace reprobench

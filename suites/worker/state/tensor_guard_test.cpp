// Tensors in a wrong place are named with what was expected, and by which setting.
#include "suites/worker/state/tensor_guard.hpp"

#include <algorithm>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "ci/catch.hpp"
#include "suites/worker/ranks/shared_training.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

const c10::Device kGuardedDevice(c10::DeviceType::CPU);

const Model& guarded_model() {
  return **std::find_if(models().begin(), models().end(), [](const Model* one) { return one->name() == "mlp"; });
}

struct Guarded {
  TrainState state{guarded_model(), guarded_model().presets()[1], 1, 1, Precision::fp32, kGuardedDevice};

  at::Tensor& kept() { return state.kept(2)[1]; }  // fc2.weight.exp_avg_sq
  std::string said(const KnobValues& knobs = {}, const c10::Device& where = kGuardedDevice,
                   StatePhase phase = StatePhase::optimizer) const {
    try {
      TensorGuard(state, where, settings_of(knobs)).check(PhaseSide::before, phase);
    } catch (const RunFailure& failure) {
      CHECK(failure.cause() == "device_consistency");
      return failure.what();
    }
    return "";
  }
};

TEST_CASE("a state where it was declared to be passes, with and without offload", "[worker]") {
  const Guarded guarded;
  CHECK(guarded.said().empty());
  CHECK(guarded.said({{"offload", "optimizer"}}).empty());
}

TEST_CASE("an optimizer state on another device is named with the setting that declares it", "[worker]") {
  Guarded guarded;
  guarded.kept() = at::empty_like(guarded.kept(), guarded.kept().options().device(at::kMeta));
  CHECK(guarded.said({{"offload", "optimizer"}}) ==
        "before the phase `optimizer`: `fc2.weight.exp_avg_sq` (optimizer_state) is on device meta, expected cpu by "
        "`offload: optimizer`");
  CHECK(guarded.said() ==
        "before the phase `optimizer`: `fc2.weight.exp_avg_sq` (optimizer_state) is on device meta, expected cpu by "
        "`offload: none`");
}

TEST_CASE("a gradient and a parameter on another device are named", "[worker]") {
  Guarded guarded;
  const at::Tensor& parameter = guarded.state.parameter(1);
  parameter.mutable_grad() = at::empty_like(parameter, parameter.options().device(at::kMeta)).detach();
  CHECK(guarded.said() ==
        "before the phase `optimizer`: `fc1.bias` (parameter_gradient) is on device meta, expected cpu by `device: "
        "cpu`");
  CHECK(guarded.said({}, c10::Device(c10::DeviceType::Meta)) ==
        "before the phase `optimizer`: `fc1.weight` (parameter) is on device cpu, expected meta by `device: meta`");
}

TEST_CASE("an optimizer offloaded from another device belongs on the host", "[worker]") {
  const c10::Device elsewhere(c10::DeviceType::Meta);
  const Guarded guarded{{guarded_model(), guarded_model().presets()[1], 1, 1, Precision::fp32, elsewhere}};
  CHECK(guarded.said({}, elsewhere).empty());
  CHECK(guarded.said({{"offload", "optimizer"}}, elsewhere) ==
        "before the phase `optimizer`: `fc1.weight.exp_avg` (optimizer_state) is on device meta, expected cpu by "
        "`offload: optimizer`");
}

TEST_CASE("a state of another element type or layout is named", "[worker]") {
  Guarded guarded;
  guarded.kept() = guarded.kept().to(at::kHalf);
  CHECK(guarded.said() ==
        "before the phase `optimizer`: `fc2.weight.exp_avg_sq` (optimizer_state) is of type Half, expected Float by "
        "`precision: fp32`");
  CHECK(guarded.said({{"precision", "fp64"}})
            .find("`fc1.weight` (parameter) is of type Float, expected Double by "
                  "`precision: fp64`") != std::string::npos);
  Guarded sparse;
  sparse.kept() = sparse.kept().to_sparse();
  CHECK(sparse.said() ==
        "before the phase `optimizer`: `fc2.weight.exp_avg_sq` (optimizer_state) is sparse, expected strided");
}

Guarded offloaded_state() {
  return {{guarded_model(),
           guarded_model().presets()[1],
           1,
           1,
           Precision::fp32,
           kGuardedDevice,
           {},
           nullptr,
           OptimizerLayout::per_tensor,
           Offload::optimizer}};
}

TEST_CASE("host memory that has to be pinned and is not is named with the setting", "[worker]") {
  const Guarded guarded = offloaded_state();
  const Settings settings = settings_of({{"offload", "optimizer"}});
  const TensorGuard guard(guarded.state, kGuardedDevice, settings, true);  // as where a GPU trains
  CHECK_THROWS_WITH(guard.check(PhaseSide::before, StatePhase::optimizer),
                    "before the phase `optimizer`: `fc1.weight (copy on the host)` (parameter) is in pageable memory, "
                    "expected pinned by `offload: optimizer`");
  TensorGuard(guarded.state, kGuardedDevice, settings, false).check(PhaseSide::before, StatePhase::optimizer);
}

TEST_CASE("the copy that the host updates, and numbers of the loss scale, have a place too", "[worker]") {
  Guarded guarded{{guarded_model(),
                   guarded_model().presets()[1],
                   1,
                   1,
                   Precision::fp32,
                   kGuardedDevice,
                   {},
                   nullptr,
                   OptimizerLayout::per_tensor,
                   Offload::optimizer}};
  const KnobValues offloaded{{"offload", "optimizer"}};
  CHECK(guarded.said(offloaded).empty());
  const_cast<at::Tensor&>(guarded.state.copy_on_host(2)) =
      at::empty_like(guarded.state.copy_on_host(2), guarded.state.copy_on_host(2).options().device(at::kMeta));
  CHECK(guarded.said(offloaded) ==
        "before the phase `optimizer`: `fc2.weight (copy on the host)` (parameter) is on device meta, expected cpu by "
        "`offload: optimizer`");
  Guarded scaled;
  scaled.state.add_tensor("loss_scale", TensorRole::scaler_state, at::empty({1}, at::TensorOptions(at::kMeta)));
  CHECK(scaled.said() ==
        "before the phase `optimizer`: `loss_scale` (scaler_state) is on device meta, expected cpu by `loss_scale: "
        "constant`");
}

TEST_CASE("a violation is named with the phase it was met in", "[worker]") {
  Guarded guarded;
  guarded.kept() = guarded.kept().to(at::kHalf);
  for (const auto& [phase, word] :
       std::vector<std::pair<StatePhase, std::string>>{{StatePhase::gradients, "gradients"},
                                                       {StatePhase::unscale, "unscale"},
                                                       {StatePhase::clip, "clip"},
                                                       {StatePhase::optimizer, "optimizer"},
                                                       {StatePhase::gather, "gather"},
                                                       {StatePhase::checkpoint, "checkpoint"}}) {
    CHECK(guarded.said({}, kGuardedDevice, phase).starts_with("before the phase `" + word + "`: "));
  }
}

TEST_CASE("a planted offload mismatch ends the run where the next phase would have met it", "[worker]") {
  const Injection fault{"offload_device_mismatch", 2, "fc2.weight", 7};
  const KnobValues offloaded{{"offload", "optimizer"}};
  CHECK_THROWS_WITH(train_on(1, 2, kSharedMlp, fault, offloaded),
                    "before the phase `optimizer`: `fc2.weight.exp_avg` (optimizer_state) is on device meta, expected "
                    "cpu by `offload: optimizer`");
  const KnobValues clipping{{"offload", "optimizer"}, {"max_grad_norm", "1"}};
  CHECK_THROWS_WITH(
      train_on(1, 2, kSharedMlp, fault, clipping),
      "before the phase `clip`: `fc2.weight.exp_avg` (optimizer_state) is on device meta, expected cpu by "
      "`offload: optimizer`");
}

}  // namespace
}  // namespace reprobench

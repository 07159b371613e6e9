// The norm over all gradients in its order of summation, and the gradients after clipping.
#include "suites/worker/state/gradient_norm.hpp"

#include <algorithm>

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>

#include "ci/catch.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {
namespace {

TEST_CASE("squares are added up by blocks, and in a block by lanes", "[worker]") {
  CHECK(block_squares(at::ones({600})) == std::vector<double>{256, 256, 88});
  CHECK(block_squares(at::full({3, 4}, 0.5).t()) == std::vector<double>{3});
  // 1e16 takes no single 1, but sixteen at once: those of its own lane are lost, and those of the other fifteen are
  // not.
  at::Tensor uneven = at::ones({256}, at::kDouble);
  uneven[0] = 1e8;
  CHECK(block_squares(uneven) == std::vector<double>{1e16 + 15 * 16});
}

TrainState small_perceptron() {
  const auto mlp =
      std::find_if(models().begin(), models().end(), [](const Model* one) { return one->name() == "mlp"; });
  return TrainState(**mlp, (*mlp)->presets()[1], 1, 1, Precision::fp32, c10::Device(c10::DeviceType::CPU));
}

// Gradients of zeros but for two elements of different parameters.
void give_gradients(TrainState& state, float first, float second) {
  for (std::size_t i = 0; i < state.size(); ++i) {
    at::Tensor gradient = at::zeros_like(state.parameter(i)).detach();
    if (i == 0) gradient[3][5] = first;
    if (i + 1 == state.size()) gradient[2] = second;
    state.parameter(i).mutable_grad() = gradient;
  }
}

float element(const TrainState& state, bool of_first) {
  return of_first ? state.gradient(0)[3][5].item<float>() : state.gradient(state.size() - 1)[2].item<float>();
}

TEST_CASE("the norm is that over all parameters together, and those without a gradient add nothing", "[worker]") {
  TrainState state = small_perceptron();
  CHECK(gradient_norm(state) == 0);
  give_gradients(state, 3, -4);
  CHECK(gradient_norm(state) == 5);
  state.drop_gradient(0);
  CHECK(gradient_norm(state) == 4);
}

TEST_CASE("gradients beyond the norm are scaled down to it, as torch.nn.utils.clip_grad_norm_ does", "[worker]") {
  TrainState state = small_perceptron();
  give_gradients(state, 3, -4);
  const at::Tensor before = state.gradient(0);
  CHECK_FALSE(clip_gradients(state, 5, 5.1));
  CHECK(state.gradient(0).is_same(before));
  CHECK(clip_gradients(state, 5, 1));
  const auto factor = static_cast<float>(1 / (5 + 1e-6));
  CHECK(element(state, true) == 3 * factor);
  CHECK(element(state, false) == -4 * factor);
  CHECK(before[3][5].item<float>() == 3);  // a trace may hold it
  CHECK(clip_gradients(state, 5, 5));      // by the millionth that keeps a norm of zero from dividing
}

}  // namespace
}  // namespace reprobench

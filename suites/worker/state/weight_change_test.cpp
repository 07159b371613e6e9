// How far weights move in whole trainings on the CPU.
#include "suites/worker/state/weight_change.hpp"

#include <cmath>

#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

double change_of(CellRequest request) {
  request.weight_change = true;
  return train(request).result.weight_change_rel.value();
}

TEST_CASE("nobody is told how far weights came who did not ask", "[worker]") {
  CHECK_FALSE(train(training_request(mlp(), 1, TraceLevel::step)).result.weight_change_rel);
}

// Adam's first step moves every element that has a gradient by the learning rate, 1e-3; pixels that are always white
// have none.
TEST_CASE("weights have come by the learning rate an element after Adam's first step", "[worker]") {
  const CellRequest request = training_request(mlp(), 1, TraceLevel::step);
  const double one = change_of(request);
  // fc1.weight and fc2.weight are drawn with standard deviations of sqrt(2 / 784) and 0.125, the biases are 0.
  const double norm = std::sqrt(2.0 * 128 + 0.125 * 0.125 * 1280);
  const double all_moved = 1e-3 * std::sqrt(static_cast<double>(mlp().presets().front().parameters)) / norm;
  CHECK(one < all_moved);
  CHECK(one > 0.5 * all_moved);
}

TEST_CASE("at half the rate weights come half as far, from whichever seed, in one buffer or many", "[worker]") {
  CellRequest request = training_request(mlp(), 1, TraceLevel::step);
  request.knobs["seed"] = GENERATE("1", "2");
  const double whole = change_of(request);
  request.knobs["optimizer_layout"] = "flat";
  CHECK(change_of(request) == Approx(whole));
  request.knobs["optimizer_layout"] = "per_tensor";
  request.inject = Injection{"update_halved", 1, "", 0};
  CHECK(change_of(request) == Approx(whole / 2).epsilon(1e-4));
  request.inject->kind = "updates_stop";
  CHECK(change_of(request) == 0);
}

TEST_CASE("frozen weights are no part of the way nor of what it is a share of", "[worker]") {
  CellRequest request = training_request(model_called("llama"), 2, TraceLevel::step);
  request.workload.preset = "tiny-lora";
  const double adapters = change_of(request);
  request.workload.preset = "tiny";
  CHECK(adapters != Approx(change_of(request)));
  CHECK(adapters > 0);
}

}  // namespace
}  // namespace reprobench

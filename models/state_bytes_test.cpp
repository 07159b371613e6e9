#include "models/state_bytes.hpp"

#include "ci/catch.hpp"

namespace at {
class Tensor {};  // a model's signatures need it whole; nothing here computes
}  // namespace at

namespace reprobench {
namespace {

// 10 trained elements, 100 frozen ones, 3 of a buffer.
class Declared final : public Model {
 public:
  std::string_view name() const override { return "declared"; }
  std::string_view summary() const override { return ""; }
  std::span<const ModelPreset> presets() const override { return {}; }
  std::string_view dataset() const override { return ""; }
  std::vector<ParameterSpec> parameters(const ModelPreset&) const override {
    return {{"trained", {2, 5}}, {"frozen", {10, 10}, 0, 0, /*frozen=*/true}};
  }
  std::vector<BufferSpec> buffers(const ModelPreset&) const override { return {{"table", {3}}}; }
  std::int64_t flops_per_step(const ModelPreset&, std::int64_t) const override { return 0; }
  Outputs forward(const Batch&, StepContext&) const override { return {}; }
  at::Tensor loss(const Outputs&, const Batch&) const override { return {}; }
};

ModelPreset trained_by(const OptimizerSettings& optimizer) {
  ModelPreset preset;
  preset.optimizer = optimizer;
  return preset;
}

TEST_CASE("a frozen parameter costs its own bytes, a trained one also its gradient and what the optimizer keeps",
          "[models]") {
  const StateBytes bytes = state_bytes(Declared(), trained_by(AdamWSettings{}), 4);
  CHECK(bytes.parameters == 440);
  CHECK(bytes.gradients == 40);
  CHECK(bytes.optimizer == 80);
  CHECK(bytes.scratch == 40);
  CHECK(bytes.buffers == 12);
  CHECK(bytes.total() == 612);
  CHECK(state_bytes(Declared(), trained_by(AdamSettings{}), 8).total() == 2 * 612);
  CHECK(state_bytes(Declared(), trained_by(SgdSettings{}), 4).optimizer == 40);
  CHECK(state_bytes(Declared(), trained_by(SgdSettings{.momentum = 0}), 4).optimizer == 0);
}

TEST_CASE("an update moves 28 bytes a parameter under Adam, 20 with momentum and 12 without", "[models]") {
  CHECK(update_bytes(Declared(), trained_by(AdamSettings{})) == 280);
  CHECK(update_bytes(Declared(), trained_by(AdamWSettings{})) == 280);
  CHECK(update_bytes(Declared(), trained_by(SgdSettings{})) == 200);
  CHECK(update_bytes(Declared(), trained_by(SgdSettings{.momentum = 0})) == 120);
}

TEST_CASE("the arithmetic of a state names every part of its sum", "[models]") {
  CHECK(arithmetic_of({27'000'000'000, 13'500'000'000, 54'000'000'000, 0, 2'000'000'000}) ==
        "parameters 27.0 GB + gradients 13.5 GB + optimizer 54.0 GB + scratch 0.0 GB + buffers 2.0 GB = 96.5 GB");
}

}  // namespace
}  // namespace reprobench

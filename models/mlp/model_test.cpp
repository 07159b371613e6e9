#include "ci/catch.hpp"
#include "models/model_spec.hpp"

namespace reprobench::model::mlp {
const Model& instance();

namespace {

TEST_CASE("the FLOPs of an mlp step are those of its matrix products, three a layer and two in the first", "[models]") {
  const Model& mlp = instance();
  // fc1 784x128: forward and weight gradient, 2 x 2 x 100,352; fc2 128x10: three products, 3 x 2 x 1,280; 32 samples.
  CHECK(mlp.flops_per_step(mlp.presets()[0], 32) == 13'090'816);
  CHECK(mlp.flops_per_step(mlp.presets()[0], 1) == 401'408 + 7'680);
  // 784x16 and 16x10.
  CHECK(mlp.flops_per_step(mlp.presets()[1], 1) == 50'176 + 960);
  // 784x512, two of 512x512 between, 512x10.
  REQUIRE(mlp.presets()[4].name == "mid");
  CHECK(mlp.flops_per_step(mlp.presets()[4], 1) == 1'605'632 + 2 * 1'572'864 + 30'720);
}

TEST_CASE("every preset of the mlp has the parameters that it declares, a weight and a bias a layer", "[models]") {
  const Model& mlp = instance();
  for (const ModelPreset& preset : mlp.presets()) {
    INFO(preset.name);
    std::int64_t elements = 0;
    for (const ParameterSpec& parameter : mlp.parameters(preset)) {
      std::int64_t of_this = 1;
      for (const std::int64_t size : parameter.shape) of_this *= size;
      elements += of_this;
    }
    CHECK(elements == preset.parameters);
  }
  CHECK(mlp.presets()[0].parameters == 101'770);
  CHECK(mlp.presets()[4].parameters == 932'362);
  const auto mid = mlp.parameters(mlp.presets()[4]);
  REQUIRE(mid.size() == 8);
  CHECK(mid[4].name == "fc3.weight");
  CHECK(mid[4].shape == std::vector<std::int64_t>{512, 512});
  CHECK(mid[7].name == "fc4.bias");
}

}  // namespace
}  // namespace reprobench::model::mlp

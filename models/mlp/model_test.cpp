#include "ci/catch.hpp"
#include "models/model_spec.hpp"

namespace reprobench {
const Model& mlp_model();

namespace {

TEST_CASE("the FLOPs of an mlp step are those of its matrix products, three a layer and two in the first", "[models]") {
  const Model& mlp = mlp_model();
  // fc1 784x128: forward and weight gradient, 2 x 2 x 100,352; fc2 128x10: three products, 3 x 2 x 1,280; 32 samples.
  CHECK(mlp.flops_per_step(mlp.presets()[0], 32) == 13'090'816);
  CHECK(mlp.flops_per_step(mlp.presets()[0], 1) == 401'408 + 7'680);
  // 784x16 and 16x10.
  CHECK(mlp.flops_per_step(mlp.presets()[1], 1) == 50'176 + 960);
}

}  // namespace
}  // namespace reprobench

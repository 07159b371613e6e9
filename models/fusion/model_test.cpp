#include <functional>
#include <numeric>
#include <string>

#include "ci/catch.hpp"
#include "models/model_spec.hpp"

namespace reprobench::model::fusion {
const Model& instance();

namespace {

TEST_CASE("every fusion preset has as many parameters as it says", "[models]") {
  for (const ModelPreset& preset : instance().presets()) {
    std::int64_t sum = 0;
    for (const ParameterSpec& parameter : instance().parameters(preset)) {
      sum += std::accumulate(parameter.shape.begin(), parameter.shape.end(), std::int64_t{1}, std::multiplies<>());
    }
    CHECK(sum == preset.parameters);
  }
}

TEST_CASE("the FLOPs of a fusion step are those of its encoders, of looking at both, and of the head", "[models]") {
  // tiny: C = 64, 40 tokens, 16 squares, 3 x 16 of the clip; the fusion's two layers look at all 64.
  constexpr std::int64_t kWidth = 64;
  const auto attention = [](std::int64_t tokens, std::int64_t seen) {
    return 4 * tokens * kWidth * kWidth + 4 * seen * kWidth * kWidth + 4 * tokens * seen * kWidth;
  };
  const auto perceptron = [](std::int64_t tokens) { return 16 * tokens * kWidth * kWidth; };
  const auto encoder = [&](std::int64_t tokens) { return attention(tokens, tokens) + perceptron(tokens); };
  const std::int64_t fused = 2 * (attention(40, 40) + attention(40, 64) + perceptron(40));
  const std::int64_t head = 2 * 40 * kWidth * 260;
  const std::int64_t squares = 2 * (16 + 48) * 3 * 6 * 6 * kWidth;
  const std::int64_t expected = 3 * (encoder(40) + encoder(16) + encoder(48) + fused + head) + 2 * squares;
  CHECK(instance().flops_per_step(instance().presets().front(), 5) == 5 * expected);
}

}  // namespace
}  // namespace reprobench::model::fusion

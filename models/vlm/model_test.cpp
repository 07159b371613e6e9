#include <functional>
#include <map>
#include <numeric>
#include <string>

#include "ci/catch.hpp"
#include "models/model_spec.hpp"

namespace reprobench::model::vlm {
const Model& instance();

namespace {

TEST_CASE("every vlm preset has as many parameters as it says, the 8b those of LLaMA 3 8B in its decoder", "[models]") {
  for (const ModelPreset& preset : instance().presets()) {
    std::map<std::string, std::int64_t> parts;
    std::int64_t sum = 0;
    for (const ParameterSpec& parameter : instance().parameters(preset)) {
      const std::int64_t elements =
          std::accumulate(parameter.shape.begin(), parameter.shape.end(), std::int64_t{1}, std::multiplies<>());
      parts[parameter.name.substr(0, parameter.name.find('.'))] += elements;
      sum += elements;
    }
    CHECK(sum == preset.parameters);
    CHECK(parts.size() == 3);
    if (preset.name == "8b") CHECK(parts.at("llm") == 8'030'261'248);
  }
}

TEST_CASE("the FLOPs of a vlm step are those of five slices, of their queries, and of the decoder over both",
          "[models]") {
  // tiny: five slices of 16 squares, C' = 48; 4 queries each and 48 tokens make 68 positions of C = 64.
  const std::int64_t vision = 24 * 80LL * 48 * 48 + 5 * 4 * 16LL * 16 * 48;
  const std::int64_t resampler = 2 * 80LL * 48 * 64 + 2 * 64LL * 64 * (20 + 80 + 80 + 20 + 20) + 4 * 5 * 4 * 16LL * 64;
  const std::int64_t weights = 2 * (2 * 64LL * 64 + 2 * 64LL * 32 + 3 * 64LL * 176);
  const std::int64_t decoder = 68 * (2 * weights + 2 * 4LL * 64 * 68);
  const std::int64_t head = 2 * 48LL * 64 * 260;  // over the text alone
  const std::int64_t squares = 2 * 80LL * 3 * 6 * 6 * 48;
  CHECK(instance().flops_per_step(instance().presets().front(), 3) ==
        3 * (3 * (vision + resampler + decoder + head) + 2 * squares));
}

}  // namespace
}  // namespace reprobench::model::vlm

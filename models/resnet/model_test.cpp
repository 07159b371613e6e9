#include <functional>
#include <numeric>
#include <set>
#include <string>

#include "ci/catch.hpp"
#include "models/model_spec.hpp"

namespace reprobench::model::resnet {
const Model& instance();

namespace {

const ModelPreset& preset_called(std::string_view name) {
  for (const ModelPreset& preset : instance().presets()) {
    if (preset.name == name) return preset;
  }
  throw std::logic_error("resnet lost a preset");
}

std::int64_t elements_of(const ModelPreset& preset) {
  std::int64_t sum = 0;
  for (const ParameterSpec& parameter : instance().parameters(preset)) {
    sum += std::accumulate(parameter.shape.begin(), parameter.shape.end(), std::int64_t{1}, std::multiplies<>());
  }
  return sum;
}

TEST_CASE("18 and 50 have the published parameters, 11.69 M and 25.557 M, and every preset as many as it says",
          "[models]") {
  CHECK(elements_of(preset_called("18")) == 11'689'512);
  CHECK(elements_of(preset_called("50")) == 25'557'032);
  for (const ModelPreset& preset : instance().presets()) CHECK(elements_of(preset) == preset.parameters);
}

TEST_CASE("names and shapes are the published checkpoint's, and buffers are one pair a normalization", "[models]") {
  std::set<std::string> names;
  const auto parameters = instance().parameters(preset_called("50"));
  for (const ParameterSpec& parameter : parameters) CHECK(names.insert(parameter.name).second);
  CHECK(parameters.size() == 161);
  CHECK(parameters.front().name == "conv1.weight");
  CHECK(parameters.front().shape == std::vector<std::int64_t>{64, 3, 7, 7});
  CHECK(names.count("layer3.5.conv2.weight") == 1);
  CHECK(names.count("layer2.0.downsample.0.weight") == 1);
  CHECK(names.count("layer1.1.downsample.0.weight") == 0);
  CHECK(parameters.back().name == "fc.bias");
  CHECK(instance().parameters(preset_called("18")).size() == 62);
  const auto buffers = instance().buffers(preset_called("50"));
  CHECK(buffers.size() == 2 * 53);
  for (const BufferSpec& buffer : buffers) {
    INFO(buffer.name);
    CHECK(buffer.initial == (buffer.name.ends_with("running_var") ? 1 : 0));
  }
}

TEST_CASE("the FLOPs of a resnet step are those of its products: at 224 x 224 the published multiply-adds",
          "[models]") {
  // Published: 1,814,073,344 multiply-adds for 18, 4,089,184,256 for 50 (torchvision). The first convolution, 7 x 7 of
  // three channels into 64 at 112 x 112, has two products instead of three.
  const auto at_224 = [](std::string_view name) {
    ModelPreset preset = preset_called(name);
    preset.image_side = 224;
    return instance().flops_per_step(preset, 1);
  };
  const std::int64_t first = 64LL * 3 * 7 * 7 * 112 * 112;
  CHECK(at_224("18") == 2 * (3 * 1'814'073'344LL - first));
  CHECK(at_224("50") == 2 * (3 * 4'089'184'256LL - first));
  // tiny: 9 x 8 at 28 x 28, 9 x 8 x 16 at 14 x 14, 9 x 16 x 32 at 7 x 7, and 32 x 10.
  const std::int64_t tiny_first = 9LL * 8 * 784;
  const std::int64_t tiny = tiny_first + 9LL * 8 * 16 * 196 + 9LL * 16 * 32 * 49 + 320;
  CHECK(instance().flops_per_step(preset_called("tiny"), 2) == 2 * 2 * (3 * tiny - tiny_first));
}

}  // namespace
}  // namespace reprobench::model::resnet

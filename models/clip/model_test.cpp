#include <functional>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

#include "ci/catch.hpp"
#include "models/model_spec.hpp"

namespace reprobench::model::clip {
const Model& instance();

namespace {

const ModelPreset& preset_called(std::string_view name) {
  for (const ModelPreset& preset : instance().presets()) {
    if (preset.name == name) return preset;
  }
  throw std::logic_error("clip lost a preset");
}

std::int64_t elements_of(const ModelPreset& preset, std::string_view prefix = "") {
  std::int64_t sum = 0;
  for (const ParameterSpec& parameter : instance().parameters(preset)) {
    if (!parameter.name.starts_with(prefix)) continue;
    sum += std::accumulate(parameter.shape.begin(), parameter.shape.end(), std::int64_t{1}, std::multiplies<>());
  }
  return sum;
}

TEST_CASE("clip presets have the published parameters, and every preset as many as it says", "[models]") {
  CHECK(elements_of(preset_called("vit-b-32")) == 151'277'313);
  // OpenCLIP's ViT-g-14 in millions: 1366.68, of them 1012.65 for images and 354.03 for texts.
  CHECK(elements_of(preset_called("vit-g-14")) == 1'366'678'273);
  CHECK(elements_of(preset_called("vit-g-14"), "vis") == 1'012'645'632);
  CHECK(elements_of(preset_called("vit-g-14"), "text") == 354'032'640);
  for (const ModelPreset& preset : instance().presets()) CHECK(elements_of(preset) == preset.parameters);
}

TEST_CASE("names of clip's parameters are the published checkpoint's", "[models]") {
  std::set<std::string> names;
  for (const ParameterSpec& parameter : instance().parameters(preset_called("vit-b-32"))) {
    CHECK(names.insert(parameter.name).second);
  }
  for (const char* name :
       {"logit_scale", "visual_projection.weight", "text_projection.weight", "vision_model.embeddings.class_embedding",
        "vision_model.embeddings.patch_embedding.weight", "vision_model.embeddings.position_embedding.weight",
        "vision_model.pre_layrnorm.bias", "vision_model.encoder.layers.11.self_attn.out_proj.bias",
        "vision_model.encoder.layers.0.mlp.fc2.weight", "vision_model.post_layernorm.weight",
        "text_model.embeddings.token_embedding.weight", "text_model.embeddings.position_embedding.weight",
        "text_model.encoder.layers.11.layer_norm2.weight", "text_model.final_layer_norm.bias"}) {
    INFO(name);
    CHECK(names.count(name) == 1);
  }
  CHECK(names.size() == 398);
}

TEST_CASE("the FLOPs of a clip step are 3 L (24 T C^2 + 4 T^2 C) a tower, its ends, and 6 B^2 C of the contrast",
          "[models]") {
  const auto tower = [](std::int64_t layers, std::int64_t tokens, std::int64_t width) {
    return layers * (24 * tokens * width * width + 4 * tokens * tokens * width);
  };
  const std::int64_t image = tower(12, 50, 768) + 2 * 768LL * 512;
  const std::int64_t text = tower(12, 77, 512) + 2 * 512LL * 512;
  const std::int64_t squares = 2 * 49LL * 3 * 32 * 32 * 768;  // no gradient of the image: two products
  for (const std::int64_t batch : {1, 32}) {
    CHECK(instance().flops_per_step(preset_called("vit-b-32"), batch) ==
          batch * (3 * (image + text) + 2 * squares) + 6 * batch * batch * 512);
  }
}

}  // namespace
}  // namespace reprobench::model::clip

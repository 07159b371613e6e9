// Every scene once, with its caption: `image` (3, S, S) float32, `tokens` (T) int64, `end` int64, the place of the
// token that ends the text.
#include <algorithm>

#include "models/data/byte_tokens.hpp"
#include "models/data/scenes/scene.hpp"
#include "models/data/scenes/scene_samples.hpp"
#include "models/model_spec.hpp"

namespace reprobench::data::captions {
namespace {

constexpr std::int64_t kOwnSide = 24;

}  // namespace

std::unique_ptr<DataSet> open(const std::filesystem::path& data_folder, const ModelPreset& preset);
std::unique_ptr<DataSet> open(const std::filesystem::path&, const ModelPreset& preset) {
  const std::int64_t side = preset.image_side > 0 ? preset.image_side : kOwnSide;
  const std::int64_t length = preset.context_length;
  const auto tokens = [length](std::int64_t sample) { return tokens_of(caption_of(scene_at(sample)), length); };
  for (std::int64_t sample = 0; sample < kScenes; ++sample) tokens(sample);  // each fits
  return scene_samples(
      kScenes, {{.spec = {"image", ElementType::float32, {kChannels, side, side}},
                 .real = [side](std::int64_t sample,
                                std::span<float> to) { draw(scene_at(sample), side, {}, /*is_grey=*/false, to); }},
                {.spec = {"tokens", ElementType::int64, {length}}, .whole = tokens},
                {.spec = {"end", ElementType::int64, {}}, .whole = [tokens](std::int64_t sample) {
                   const auto all = tokens(sample);
                   return std::vector<std::int64_t>{std::ranges::find(all, kEndToken) - all.begin()};
                 }}});
}

}  // namespace reprobench::data::captions

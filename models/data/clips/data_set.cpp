// Each sample has a scene, a clip in grey of its shape as it moves, and a sentence. The sentence hides two words: the
// colour, which only the image shows, and the direction, which only the clip shows. `image` (3, S, S) and `video` (F,
// 3, S, S) float32; `tokens` (T) int64 with kHiddenToken for every byte of the two; `target` (T) those bytes, else
// kNoTarget.
#include "models/data/byte_tokens.hpp"
#include "models/data/scenes/scene.hpp"
#include "models/data/scenes/scene_samples.hpp"
#include "models/model_spec.hpp"

namespace reprobench::data::clips {
namespace {

constexpr std::int64_t kOwnSide = 24;
constexpr std::int64_t kOwnFrames = 3;

struct Direction {
  const char* name;
  Shift of_frame;  // in sixths of the side
};
constexpr Direction kDirections[] = {{"up", {-1, 0}}, {"down", {1, 0}}, {"left", {0, -1}}, {"right", {0, 1}}};
constexpr std::int64_t kWays = 4;

Scene scene_of(std::int64_t sample) { return scene_at(sample / kWays); }
const Direction& direction_of(std::int64_t sample) { return kDirections[sample % kWays]; }

struct Sentence {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> target;
};

Sentence sentence_of(std::int64_t sample, std::int64_t length) {
  const Scene scene = scene_of(sample);
  const std::string colour(kColours[scene.colour]);
  const std::string before = "the " + colour + " " + std::string(kShapes[scene.shape]) + " moves ";
  const std::string direction = direction_of(sample).name;
  Sentence sentence{tokens_of(before + direction, length), {}};
  sentence.target.assign(sentence.tokens.size(), kNoTarget);
  const auto hide = [&](std::size_t first, std::size_t count) {  // of the text, which begins behind BEGIN
    for (std::size_t i = first + 1; i < first + 1 + count; ++i) {
      sentence.target[i] = sentence.tokens[i];
      sentence.tokens[i] = kHiddenToken;
    }
  };
  hide(4, colour.size());
  hide(before.size(), direction.size());
  return sentence;
}

// Frame by frame, from the middle of the picture.
void film(std::int64_t sample, std::int64_t side, std::int64_t frames, std::span<float> to) {
  Scene scene = scene_of(sample);
  scene.row = 1;
  scene.column = 1;
  const Shift& way = direction_of(sample).of_frame;
  const auto pixels = static_cast<std::size_t>(kChannels * side * side);
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    draw(scene, side, {way.rows * frame, way.columns * frame}, /*is_grey=*/true,
         to.subspan(static_cast<std::size_t>(frame) * pixels, pixels));
  }
}

}  // namespace

std::unique_ptr<DataSet> open(const std::filesystem::path& data_folder, const ModelPreset& preset);
std::unique_ptr<DataSet> open(const std::filesystem::path&, const ModelPreset& preset) {
  const std::int64_t side = preset.image_side > 0 ? preset.image_side : kOwnSide;
  const std::int64_t frames = preset.frames > 0 ? preset.frames : kOwnFrames;
  const std::int64_t length = preset.context_length;
  for (std::int64_t sample = 0; sample < kScenes * kWays; ++sample) sentence_of(sample, length);  // each fits
  return scene_samples(
      kScenes * kWays,
      {{.spec = {"image", ElementType::float32, {kChannels, side, side}},
        .real = [side](std::int64_t sample,
                       std::span<float> to) { draw(scene_of(sample), side, {}, /*is_grey=*/false, to); }},
       {.spec = {"video", ElementType::float32, {frames, kChannels, side, side}},
        .real = [side, frames](std::int64_t sample, std::span<float> to) { film(sample, side, frames, to); }},
       {.spec = {"tokens", ElementType::int64, {length}},
        .whole = [length](std::int64_t sample) { return sentence_of(sample, length).tokens; }},
       {.spec = {"target", ElementType::int64, {length}},
        .whole = [length](std::int64_t sample) { return sentence_of(sample, length).target; }}});
}

}  // namespace reprobench::data::clips

// A scene and a question about it. `slices` (5, 3, S, S) float32: the scene at S pixels, and the quarters of the same
// at 2 S. `input` (T) int64: question and answer; `target` (T): what follows each token of the answer's part, else
// kNoTarget.
#include <algorithm>

#include "models/data/byte_tokens.hpp"
#include "models/data/scenes/scene.hpp"
#include "models/data/scenes/scene_samples.hpp"
#include "models/model_spec.hpp"

namespace reprobench::data::questions {
namespace {

constexpr std::int64_t kOwnSide = 24;
constexpr std::int64_t kSlices = 5;
constexpr std::int64_t kKinds = 3;  // of questions

Scene scene_of(std::int64_t sample) { return scene_at(sample / kKinds); }

struct Question {
  std::string asks;
  std::string answer;
};

Question question_of(std::int64_t sample) {
  const Scene scene = scene_of(sample);
  const std::string shape(kShapes[scene.shape]);
  switch (sample % kKinds) {
    case 0:
      return {"what colour is the " + shape + "? ", std::string(kColours[scene.colour])};
    case 1:
      return {"where is the " + shape + "? ", place_of(scene)};
    default:
      return {"what shape is it? ", shape};
  }
}

std::vector<std::int64_t> input_of(std::int64_t sample, std::int64_t length) {
  const Question question = question_of(sample);
  return tokens_of(question.asks + question.answer, length);
}

std::vector<std::int64_t> target_of(std::int64_t sample, std::int64_t length) {
  const Question question = question_of(sample);
  const std::vector<std::int64_t> tokens = input_of(sample, length);
  std::vector<std::int64_t> target(tokens.size(), kNoTarget);
  const std::size_t first = question.asks.size();  // the token before the answer, BEGIN counted
  for (std::size_t i = first; i <= first + question.answer.size(); ++i) target[i] = tokens[i + 1];
  return target;
}

void slice(std::int64_t sample, std::int64_t side, std::span<float> to) {
  const Scene scene = scene_of(sample);
  const auto size = static_cast<std::size_t>(kChannels * side * side);
  draw(scene, side, {}, /*is_grey=*/false, to.first(size));
  std::vector<float> large(4 * size);
  draw(scene, 2 * side, {}, /*is_grey=*/false, large);
  float* out = to.data() + size;
  for (std::int64_t quarter = 0; quarter < 4; ++quarter) {
    for (std::int64_t row = 0; row < kChannels * side; ++row) {
      const std::int64_t channel = row / side;
      const std::int64_t large_row = (2 * channel + quarter / 2) * side + row % side;
      out = std::copy_n(large.data() + large_row * 2 * side + (quarter % 2) * side, side, out);
    }
  }
}

}  // namespace

std::unique_ptr<DataSet> open(const std::filesystem::path& data_folder, const ModelPreset& preset);
std::unique_ptr<DataSet> open(const std::filesystem::path&, const ModelPreset& preset) {
  const std::int64_t side = preset.image_side > 0 ? preset.image_side : kOwnSide;
  const std::int64_t length = preset.context_length;
  for (std::int64_t sample = 0; sample < kScenes * kKinds; ++sample) input_of(sample, length);  // each fits
  return scene_samples(kScenes * kKinds,
                       {{.spec = {"slices", ElementType::float32, {kSlices, kChannels, side, side}},
                         .real = [side](std::int64_t sample, std::span<float> to) { slice(sample, side, to); }},
                        {.spec = {"input", ElementType::int64, {length}},
                         .whole = [length](std::int64_t sample) { return input_of(sample, length); }},
                        {.spec = {"target", ElementType::int64, {length}},
                         .whole = [length](std::int64_t sample) { return target_of(sample, length); }}});
}

}  // namespace reprobench::data::questions

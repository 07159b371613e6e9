// Images of words, made up exactly: four tokens, and an image in which each of them is one bright pixel of its row.
// `image` (4, 8) float32, `tokens` (4) int64 in 0..7, `weight` float32: how much a pair counts.
#include "models/data_set.hpp"

#include <cstring>
#include <memory>

#include "models/initial_values.hpp"
#include "models/model_spec.hpp"

namespace reprobench::data::pairs {
namespace {

constexpr std::int64_t kSamples = 96;
constexpr std::size_t kTokens = 4;
constexpr std::size_t kVocabulary = 8;

struct Sample {
  float image[kTokens * kVocabulary] = {};
  std::int64_t tokens[kTokens] = {};
  float weight = 0;
};

Sample sample_at(std::int64_t index) {
  const PhiloxBlock drawn = keyed_block(/*seed=*/0, tensor_id("pairs"), 0, static_cast<std::uint64_t>(index));
  Sample sample;
  for (std::size_t i = 0; i < kTokens; ++i) {
    const std::size_t token = drawn.word[i] % kVocabulary;
    sample.tokens[i] = static_cast<std::int64_t>(token);
    sample.image[i * kVocabulary + token] = 1;
  }
  sample.weight = 0.75F + static_cast<float>(index) / 256;
  return sample;
}

class Pairs final : public DataSet {
 public:
  std::int64_t size() const override { return kSamples; }
  std::vector<FieldSpec> fields() const override {
    return {{"image", ElementType::float32, {kTokens, kVocabulary}},
            {"tokens", ElementType::int64, {kTokens}},
            {"weight", ElementType::float32, {}}};
  }

  void copy(std::int64_t index, std::size_t field, std::byte* to) const override {
    const Sample sample = sample_at(index);
    if (field == 0) std::memcpy(to, sample.image, sizeof sample.image);
    if (field == 1) std::memcpy(to, sample.tokens, sizeof sample.tokens);
    if (field == 2) std::memcpy(to, &sample.weight, sizeof sample.weight);
  }

  Digest digest() const override {
    DigestBuilder builder;
    for (std::int64_t index = 0; index < kSamples; ++index) {
      const Sample sample = sample_at(index);
      builder.append(block_digest(std::as_bytes(std::span(sample.image))));
      builder.append(block_digest(std::as_bytes(std::span(sample.tokens))));
      builder.append(block_digest(std::as_bytes(std::span(&sample.weight, 1))));
    }
    return builder.finish();
  }
};

}  // namespace

std::unique_ptr<DataSet> open(const std::filesystem::path& data_folder, const ModelPreset& preset);
std::unique_ptr<DataSet> open(const std::filesystem::path&, const ModelPreset&) { return std::make_unique<Pairs>(); }

}  // namespace reprobench::data::pairs

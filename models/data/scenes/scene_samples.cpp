#include "models/data/scenes/scene_samples.hpp"

#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

namespace reprobench {
namespace {

std::size_t elements_of(const FieldSpec& spec) {
  return static_cast<std::size_t>(
      std::accumulate(spec.shape.begin(), spec.shape.end(), std::int64_t{1}, std::multiplies<>()));
}

class SceneSamples final : public DataSet {
 public:
  SceneSamples(std::int64_t count, std::vector<SceneField> fields) : count_(count), fields_(std::move(fields)) {}

  std::int64_t size() const override { return count_; }

  std::vector<FieldSpec> fields() const override {
    std::vector<FieldSpec> specs;
    for (const SceneField& field : fields_) specs.push_back(field.spec);
    return specs;
  }

  void copy(std::int64_t sample, std::size_t index, std::byte* to) const override {
    const SceneField& field = fields_[index];
    if (field.spec.type == ElementType::float32) {
      std::vector<float> values(elements_of(field.spec));
      field.real(sample, values);
      std::memcpy(to, values.data(), values.size() * sizeof(float));
    } else {
      const std::vector<std::int64_t> values = field.whole(sample);
      std::memcpy(to, values.data(), values.size() * sizeof(std::int64_t));
    }
  }

  Digest digest() const override {
    DigestBuilder builder;
    for (std::size_t field = 0; field < fields_.size(); ++field) {
      const FieldSpec& spec = fields_[field].spec;
      const bool is_real = spec.type == ElementType::float32;
      std::vector<std::byte> bytes(elements_of(spec) * (is_real ? sizeof(float) : sizeof(std::int64_t)));
      for (std::int64_t sample = 0; sample < count_; ++sample) {
        copy(sample, field, bytes.data());
        builder.append(tensor_digest(is_real ? "float32" : "int64", spec.shape, bytes));
      }
    }
    return builder.finish();
  }

 private:
  std::int64_t count_;
  std::vector<SceneField> fields_;
};

}  // namespace

std::unique_ptr<DataSet> scene_samples(std::int64_t count, std::vector<SceneField> fields) {
  return std::make_unique<SceneSamples>(count, std::move(fields));
}

}  // namespace reprobench

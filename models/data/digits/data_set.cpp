// The digits as samples: `input` (784) float32, `target` one int64, 0..9. No size of a preset has a meaning here.
#include "models/data_set.hpp"

#include <cstring>
#include <utility>

#include "models/data/digits/digits.hpp"

namespace reprobench::data::digits {
namespace {

class DigitSamples final : public DataSet {
 public:
  explicit DigitSamples(Digits digits) : digits_(std::move(digits)) {}

  std::int64_t size() const override { return digits_.count; }
  std::vector<FieldSpec> fields() const override {
    return {{"input", ElementType::float32, {kDigitPixels}}, {"target", ElementType::int64, {}}};
  }

  void copy(std::int64_t sample, std::size_t field, std::byte* to) const override {
    if (field == 0) {
      std::memcpy(to, digits_.images.data() + sample * kDigitPixels, kDigitPixels * sizeof(float));
    } else {
      std::memcpy(to, &digits_.labels[static_cast<std::size_t>(sample)], sizeof(std::int64_t));
    }
  }

  Digest digest() const override {
    const std::int64_t image_shape[] = {digits_.count, kDigitPixels};
    const std::int64_t label_shape[] = {digits_.count};
    return DigestBuilder()
        .append(tensor_digest("float32", image_shape, std::as_bytes(std::span(digits_.images))))
        .append(tensor_digest("int64", label_shape, std::as_bytes(std::span(digits_.labels))))
        .finish();
  }

 private:
  Digits digits_;
};

}  // namespace

std::unique_ptr<DataSet> open(const std::filesystem::path& data_folder, const ModelPreset& preset);
std::unique_ptr<DataSet> open(const std::filesystem::path& data_folder, const ModelPreset&) {
  return std::make_unique<DigitSamples>(load_digits(data_folder));
}

}  // namespace reprobench::data::digits

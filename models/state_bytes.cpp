#include "models/state_bytes.hpp"

#include <array>
#include <cstdio>
#include <functional>
#include <numeric>
#include <variant>

namespace reprobench {
namespace {

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

struct Elements {
  std::int64_t all = 0;
  std::int64_t trained = 0;
};

Elements elements_of(const Model& model, const ModelPreset& preset) {
  Elements sum;
  for (const ParameterSpec& parameter : model.parameters(preset)) {
    sum.all += elements_of(parameter.shape);
    sum.trained += parameter.frozen ? 0 : elements_of(parameter.shape);
  }
  return sum;
}

std::int64_t kept_numbers(const OptimizerSettings& optimizer) {
  const auto* sgd = std::get_if<SgdSettings>(&optimizer);
  return sgd == nullptr ? 2 : sgd->momentum == 0 ? 0 : 1;
}

}  // namespace

StateBytes state_bytes(const Model& model, const ModelPreset& preset, std::int64_t element_bytes) {
  const Elements elements = elements_of(model, preset);
  const std::int64_t trained_bytes = elements.trained * element_bytes;
  StateBytes bytes;
  bytes.parameters = elements.all * element_bytes;
  bytes.gradients = trained_bytes;
  bytes.optimizer = kept_numbers(preset.optimizer) * trained_bytes;
  bytes.scratch = trained_bytes;
  for (const BufferSpec& buffer : model.buffers(preset)) bytes.buffers += elements_of(buffer.shape) * element_bytes;
  return bytes;
}

std::int64_t update_bytes(const Model& model, const ModelPreset& preset) {
  constexpr std::int64_t kElementBytes = 4;
  const std::int64_t read = 2 + kept_numbers(preset.optimizer);
  const std::int64_t written = 1 + kept_numbers(preset.optimizer);
  return elements_of(model, preset).trained * kElementBytes * (read + written);
}

std::string arithmetic_of(const StateBytes& bytes) {
  std::array<char, 256> text{};
  const auto gigabytes = [](std::int64_t count) { return static_cast<double>(count) * 1e-9; };
  std::snprintf(
      text.data(), text.size(),
      "parameters %.1f GB + gradients %.1f GB + optimizer %.1f GB + scratch %.1f GB + buffers %.1f GB = %.1f GB",
      gigabytes(bytes.parameters), gigabytes(bytes.gradients), gigabytes(bytes.optimizer), gigabytes(bytes.scratch),
      gigabytes(bytes.buffers), gigabytes(bytes.total()));
  return text.data();
}

}  // namespace reprobench

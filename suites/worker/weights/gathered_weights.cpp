#include "suites/worker/weights/gathered_weights.hpp"

#include <map>

#include <ATen/core/Tensor.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/GradMode.h>

#include "matrix/base/plain_sha256.hpp"
#include "suites/worker/data/own_file.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/weights/weight_names.hpp"

namespace reprobench {
namespace {

// LibTorch rounds to the nearest, ties to even; what is beyond the range becomes infinite.
at::Tensor rounded(const WeightTarget& target, const at::Tensor& whole, HalfType type) {
  const at::Tensor half = whole.to(type == HalfType::bf16 ? at::kBFloat16 : at::kHalf);
  if (at::isfinite(whole).logical_and(at::isfinite(half).logical_not()).any().item().toBool()) {
    throw RunFailure("unsupported", "`gathered_weights`: an element of `" + target.name + "` is beyond the range of " +
                                        (type == HalfType::bf16 ? "bf16" : "fp16"));
  }
  return target.is_transposed ? half.t().contiguous() : half.contiguous();
}

}  // namespace

std::optional<HalfType> gathered_type_of(const Model& model, const ModelPreset& preset, GatheredWeights asked) {
  if (asked == GatheredWeights::none) return std::nullopt;
  std::int64_t adapters = 0;
  published_weights(model, preset, adapters);
  if (adapters > 0) {
    throw RunFailure("unsupported", "`gathered_weights`: the " + std::to_string(adapters) + " tensors of adapters of " +
                                        std::string(model.name()) + "/" + std::string(preset.name) +
                                        " have no place in a file of published weights");
  }
  return asked == GatheredWeights::bf16 ? HalfType::bf16 : HalfType::fp16;
}

std::string write_gathered_weights(const std::filesystem::path& path, const NamedTensors& whole, HalfType type,
                                   const Model& model, const ModelPreset& preset) {
  const c10::NoGradGuard no_grad;
  const std::map<std::string, at::Tensor> by_name(whole.begin(), whole.end());
  NamedTensors tensors;
  std::int64_t adapters = 0;
  for (const WeightTarget& target : published_weights(model, preset, adapters)) {
    tensors.emplace_back(target.name, rounded(target, by_name.at(target.name), type));
  }
  write_tensors(path, tensors, {{"format", "pt"}});
  return plain_sha256_of_text(text_of_own_file(path));
}

}  // namespace reprobench

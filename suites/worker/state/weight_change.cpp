#include "suites/worker/state/weight_change.hpp"

#include <cmath>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include "models/initial_values.hpp"

namespace reprobench {
namespace {

double square_of_norm(const at::Tensor& values) { return values.square().sum().item<double>(); }

}  // namespace

std::optional<double> weight_change_rel(const Model& model, const ModelPreset& preset, std::uint64_t seed,
                                        const TrainState& state) {
  if (state.sharding().shares_parameters()) return std::nullopt;
  double distance = 0;
  double norm = 0;
  std::size_t index = 0;
  for (const ParameterSpec& spec : model.parameters(preset)) {
    const at::Tensor now = state.parameter(index).detach();
    if (!state.is_frozen(index++)) {
      const std::vector<float> drawn =
          initial_values(seed, spec.name, static_cast<std::size_t>(now.numel()), spec.init_scale, spec.init_mean);
      const at::Tensor first = at::from_blob(const_cast<float*>(drawn.data()), spec.shape, at::kFloat).to(at::kDouble);
      distance += square_of_norm(now.to(at::kCPU, at::kDouble).sub(first));
      norm += square_of_norm(first);
    }
  }
  return norm > 0 ? std::optional(std::sqrt(distance / norm)) : std::nullopt;
}

}  // namespace reprobench

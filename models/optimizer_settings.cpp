#include "models/optimizer_settings.hpp"

#include "models/model_spec.hpp"

namespace reprobench {

bool decays_matrices(const ParameterSpec& parameter) { return parameter.shape.size() >= 2; }
bool decays_everything(const ParameterSpec&) { return true; }

double base_learning_rate(const OptimizerSettings& optimizer) {
  struct Base {
    double operator()(const AdamSettings& adam) const { return adam.learning_rate; }
    double operator()(const AdamWSettings& adamw) const { return adamw.adam.learning_rate; }
    double operator()(const SgdSettings& sgd) const { return sgd.learning_rate; }
  };
  return std::visit(Base{}, optimizer);
}

}  // namespace reprobench

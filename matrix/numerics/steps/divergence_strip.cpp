#include "matrix/numerics/steps/divergence_strip.hpp"

#include <algorithm>

#include "matrix/numerics/steps/tensor_distance.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kStepsBefore = 8;

std::string without_last_part(const std::string& name) {
  const auto dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(0, dot);
}

std::string module_of(const TensorRecord& tensor) {
  switch (tensor.role) {
    case TensorRole::parameter:
    case TensorRole::parameter_gradient:
    case TensorRole::buffer:
      return without_last_part(tensor.name);
    case TensorRole::optimizer_state:
      return without_last_part(without_last_part(tensor.name));
    default:
      return tensor.name;
  }
}

StripRow& row_of(DivergenceStrip& strip, const std::string& module) {
  const auto found =
      std::find_if(strip.rows.begin(), strip.rows.end(), [&](const StripRow& row) { return row.module == module; });
  if (found != strip.rows.end()) return *found;
  strip.rows.push_back({module, std::string(strip.steps.size(), '.')});
  return strip.rows.back();
}

// Parameters come first in a step but say nothing of the order of modules: that is the order of the outputs.
void add_rows(DivergenceStrip& strip, const TensorsRecord& record) {
  for (const bool outputs : {true, false}) {
    for (const TensorRecord& tensor : record.tensors) {
      const bool is_output = tensor.role != TensorRole::parameter && tensor.role != TensorRole::optimizer_state &&
                             tensor.role != TensorRole::parameter_gradient;
      if (is_output == outputs) row_of(strip, module_of(tensor));
    }
  }
}

}  // namespace

char strip_mark(TensorRole role) {
  switch (role) {
    case TensorRole::input:
      return 'i';
    case TensorRole::parameter:
      return 'p';
    case TensorRole::forward_output:
      return 'f';
    case TensorRole::mask:
    case TensorRole::choice:
      return 'm';
    case TensorRole::loss:
      return 'l';
    case TensorRole::grad_output:
      return 'g';
    case TensorRole::parameter_gradient:
      return 'd';
    case TensorRole::optimizer_state:
      return 's';
    case TensorRole::buffer:
      return 'b';
    case TensorRole::scaler_state:
      return 'c';
  }
  return '?';
}

DivergenceStrip divergence_strip(const Trace& measured, const Trace& expected, std::int64_t first_step) {
  DivergenceStrip strip;
  for (const TensorsRecord& ours : measured.tensors) {
    if (ours.is_final || ours.step < first_step - kStepsBefore) continue;
    if (tensors_of_step(expected, ours.step) == nullptr) continue;
    if (strip.steps.size() == kStripSteps) break;
    strip.steps.push_back(ours.step);
  }
  for (std::size_t column = 0; column < strip.steps.size(); ++column) {
    const TensorsRecord& ours = *tensors_of_step(measured, strip.steps[column]);
    const TensorsRecord& theirs = *tensors_of_step(expected, strip.steps[column]);
    if (column == 0) add_rows(strip, ours);
    for (std::size_t i = 0; i < std::min(ours.tensors.size(), theirs.tensors.size()); ++i) {
      const TensorRecord& tensor = ours.tensors[i];
      if (tensor.digest == theirs.tensors[i].digest) continue;
      char& mark = row_of(strip, module_of(tensor)).marks[column];
      if (mark == '.') mark = strip_mark(tensor.role);
    }
  }
  return strip;
}

}  // namespace reprobench

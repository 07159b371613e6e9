#include "matrix/inquiry/explain/summed_terms.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace reprobench {
namespace {

using Shape = std::vector<std::int64_t>;

std::int64_t elements_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// "h.0.attn" of "h.0.attn.c_attn"; empty of a name without a dot.
std::string around(const std::string& name) {
  const auto dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

const Shape* output_around(std::string module, const std::map<std::string, Shape>& outputs) {
  for (; !module.empty(); module = around(module)) {
    if (const auto found = outputs.find(module); found != outputs.end()) return &found->second;
  }
  return nullptr;
}

std::int64_t shared_extent(const Shape& parameter, const Shape& output) {
  std::int64_t largest = 1;
  for (const std::int64_t extent : parameter) {
    if (std::ranges::find(output, extent) != output.end()) largest = std::max(largest, extent);
  }
  return largest;
}

}  // namespace

std::map<std::string, std::int64_t> summed_terms(const std::vector<TensorRecord>& tensors, std::int64_t micro_batches) {
  std::map<std::string, Shape> outputs;
  for (const TensorRecord& tensor : tensors) {
    if (tensor.role == TensorRole::forward_output) outputs.emplace(tensor.name, tensor.shape);
  }
  std::map<std::string, std::int64_t> terms;
  for (const TensorRecord& tensor : tensors) {
    if (tensor.role != TensorRole::parameter_gradient) continue;
    const Shape* output = output_around(around(tensor.name), outputs);
    if (output == nullptr) continue;
    terms["gradient/" + tensor.name] = elements_of(*output) / shared_extent(tensor.shape, *output) * micro_batches;
  }
  return terms;
}

}  // namespace reprobench

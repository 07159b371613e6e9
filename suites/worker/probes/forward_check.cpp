#include "suites/worker/probes/forward_check.hpp"

#include <algorithm>
#include <string>

#include <ATen/core/Tensor.h>

#include "matrix/base/number.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/probes/error_bound.hpp"
#include "suites/worker/record/tensor_record.hpp"

namespace reprobench {
namespace {

std::string unlike(const at::Tensor& result, const at::Tensor& expected) {
  if (result.sizes() != expected.sizes()) return "the result has another shape than eager's";
  if (result.scalar_type() != expected.scalar_type()) return "the result has another type than eager's";
  if (result.device() != expected.device()) return "the result lies on another device than eager's";
  return "";
}

}  // namespace

double eager_error_bound_rel(const Model& model, const ModelPreset& preset) {
  double bound = 0;
  for (const ParameterSpec& parameter : model.parameters(preset)) {
    if (parameter.shape.size() < 2) continue;
    std::int64_t depth = 1;  // of a matrix or a filter with so many outputs
    for (std::size_t i = 1; i < parameter.shape.size(); ++i) depth *= parameter.shape[i];
    bound += product_error_bound_rel("fp32", depth);
  }
  return bound;
}

Correctness eager_is_right(const at::Tensor& result, const at::Tensor& fp64, double bound_rel) {
  Correctness found = close_to(result, fp64, bound_rel);
  found.digest = to_hex(digest_of(result));
  return found;
}

Correctness package_is_right(const at::Tensor& result, const at::Tensor& fp32, const at::Tensor& fp64,
                             double eager_bound_rel) {
  if (const std::string why = unlike(result, fp32); !why.empty()) return {false, why};
  const double of_eager = *close_to(fp32, fp64, 0).error_rel;
  // An error that is no number is no smaller than its bound.
  const double bound = forward_error_bound_rel(std::min(eager_bound_rel, of_eager), result.numel());
  Correctness found = close_to(result, fp64, bound);
  found.digest = to_hex(digest_of(result));
  if (!found.right) return found;
  const std::int64_t differing = differing_elements(result, fp32);
  found.finding = differing == 0 ? "has eager's bits"
                                 : std::to_string(differing) + " of " + std::to_string(result.numel()) +
                                       " elements have other bits than eager's, which is off by " +
                                       json_number(of_eager).dump() + " from fp64";
  return found;
}

std::int64_t differing_elements(const at::Tensor& result, const at::Tensor& expected) {
  return result.contiguous().view(at::kInt).ne(expected.contiguous().view(at::kInt)).sum().item<std::int64_t>();
}

}  // namespace reprobench

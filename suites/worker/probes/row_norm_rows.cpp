#include "suites/worker/probes/row_norm_rows.hpp"

#include <ATen/core/Tensor.h>

namespace reprobench {
namespace {

constexpr float kFar = 64;  // from a spread of 1
constexpr std::int64_t kLargeAtTheEnd = 3;

}  // namespace

std::vector<float> floats_of(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.contiguous();
  const auto* const values = static_cast<const float*>(dense.data_ptr());
  return {values, values + dense.numel()};
}

void make_kind_of_rows(float* x, std::int64_t rows, std::int64_t width, std::int64_t round) {
  const std::int64_t kind = round % kKindsOfRow;
  for (std::int64_t i = 0; i < rows * width; ++i) {
    const std::int64_t at = i % width;
    if (kind == 1) x[i] += kFar;
    if (kind == 2) x[i] += kFar * static_cast<float>(at) / static_cast<float>(width);
    if (kind == 3 && at + kLargeAtTheEnd >= width) x[i] *= kFar;
  }
}

}  // namespace reprobench

#include "suites/worker/probes/error_bound.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <string>

namespace reprobench {
namespace {

struct DtypeBound {
  std::string_view dtype;
  double unit_rel;  // bound = unit_rel sqrt(depth) + operands_rel
  double operands_rel;
};
constexpr DtypeBound kDtypeBounds[] = {{"fp64", 0x1p-53, 0}, {"fp32", 0x1p-24, 0}, {"tf32", 0, 1.5e-3},
                                       {"bf16", 0, 6e-3},    {"fp16", 0, 1e-3},    {"fp8", 0, 8e-2}};

constexpr std::int64_t kFilterTaps = 9;
constexpr std::string_view kDirectSums[] = {"implicit_gemm", "im2col_gemm", "direct", "onednn", "gemm", "split_k_gemm"};
constexpr double kGainOfTile4 = 10.8;
constexpr double kGainOfTile6 = 20.7;
constexpr double kTransforms = 3;

double winograd_bound_rel(double gain, std::int64_t channels) {
  return gain * (std::sqrt(static_cast<double>(channels)) + kTransforms) * 0x1p-24;
}

}  // namespace

double product_error_bound_rel(std::string_view dtype, std::int64_t depth) {
  for (const DtypeBound& row : kDtypeBounds) {
    if (row.dtype == dtype) return row.unit_rel * std::sqrt(static_cast<double>(depth)) + row.operands_rel;
  }
  throw std::invalid_argument("no error bound for `" + std::string(dtype) + "`");
}

double convolution_error_bound_rel(std::string_view dtype, std::int64_t channels, std::string_view algorithm) {
  const bool is_direct = std::ranges::find(kDirectSums, algorithm) != std::end(kDirectSums);
  if (dtype != "fp32" || is_direct) return product_error_bound_rel(dtype, channels * kFilterTaps);
  return winograd_bound_rel(algorithm == "winograd" ? kGainOfTile4 : kGainOfTile6, channels);
}

double attention_error_bound_rel(std::string_view dtype, std::int64_t head_width, std::int64_t keys) {
  return product_error_bound_rel(dtype, head_width) + product_error_bound_rel(dtype, keys);
}

double forward_error_bound_rel(double eager_error_rel, std::int64_t count) {
  constexpr double kFloor = 1e-6;
  constexpr std::int64_t kSmallTensor = 1000;
  return (count < kSmallTensor ? 3 : 2) * std::max(eager_error_rel, kFloor);
}

}  // namespace reprobench

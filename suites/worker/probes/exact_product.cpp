#include "suites/worker/probes/exact_product.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <ATen/core/Tensor.h>
#include <ATen/ops/mm.h>

namespace reprobench {
namespace {

constexpr std::int64_t kCheckedElements = 64;

}  // namespace

double worst_element_error_rel(const at::Tensor& product, const at::Tensor& a, const at::Tensor& b,
                               std::int64_t elements) {
  const std::int64_t depth = a.size(1);
  double worst = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::int64_t row = i * (product.size(0) - 1) / std::max<std::int64_t>(1, elements - 1);
    const std::int64_t column = i * 31 % product.size(1);
    const at::Tensor left = a[row].to(at::kCPU).to(at::kDouble).contiguous();
    const at::Tensor right = b.select(1, column).to(at::kCPU).to(at::kDouble).contiguous();
    const auto* x = static_cast<const double*>(left.data_ptr());
    const auto* y = static_cast<const double*>(right.data_ptr());
    long double sum = 0;
    long double left_squares = 0;
    long double right_squares = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
      sum += static_cast<long double>(x[k]) * y[k];
      left_squares += static_cast<long double>(x[k]) * x[k];
      right_squares += static_cast<long double>(y[k]) * y[k];
    }
    // One element at a time: all of a large product would be half a gigabyte of new memory on the host.
    const double got = product[row][column].item<double>();
    const double distance = static_cast<double>(std::abs(got - sum) / std::sqrt(left_squares * right_squares));
    if (!std::isnan(worst) && !(distance <= worst)) worst = distance;  // a NaN comes in and stays
  }
  return worst;
}

at::Tensor exact_product(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor product = at::mm(a.to(at::kDouble), b.to(at::kDouble));
  const double error = worst_element_error_rel(product, a, b, kCheckedElements);
  const double bound = static_cast<double>(a.size(1)) * 0x1p-53;
  if (!(error <= bound)) throw std::runtime_error("LibTorch's fp64 product is wrong: it cannot serve as the reference");
  return product;
}

}  // namespace reprobench

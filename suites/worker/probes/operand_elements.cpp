#include "suites/worker/probes/operand_elements.hpp"

#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include "models/initial_values.hpp"

namespace reprobench {
namespace {

std::int64_t offset_of(const at::Tensor& tensor, std::int64_t element) {
  std::int64_t offset = 0;
  for (std::int64_t axis = tensor.dim() - 1; axis >= 0; --axis) {
    offset += element % tensor.size(axis) * tensor.stride(axis);
    element /= tensor.size(axis);
  }
  return offset;
}

template <typename T>
T& element_as(const at::Tensor& tensor, std::int64_t element) {
  return static_cast<T*>(tensor.data_ptr())[offset_of(tensor, element)];
}

}  // namespace

OrderNumbers order_numbers(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return {0x1p100, 1, 1 + 0x1p-27, 1 << 30};
    case at::kBFloat16:
      return {0x1p60, 1, 0, 256};
    case at::kHalf:
      return {0x1p15, 0x1p-24, 0, 2048};
    default:
      return {0x1p60, 1, 1 + 0x1p-13, 1 << 24};
  }
}

void set_element(const at::Tensor& tensor, std::int64_t element, double value) {
  switch (tensor.scalar_type()) {
    case at::kDouble:
      element_as<double>(tensor, element) = value;
      return;
    case at::kBFloat16:
      element_as<c10::BFloat16>(tensor, element) = static_cast<float>(value);
      return;
    case at::kHalf:
      element_as<c10::Half>(tensor, element) = static_cast<float>(value);
      return;
    default:
      element_as<float>(tensor, element) = static_cast<float>(value);
  }
}

double element_of(const at::Tensor& tensor, std::int64_t element) {
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return element_as<double>(tensor, element);
    case at::kBFloat16:
      return element_as<c10::BFloat16>(tensor, element);
    case at::kHalf:
      return element_as<c10::Half>(tensor, element);
    default:
      return element_as<float>(tensor, element);
  }
}

std::vector<double> plain_values(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.to(at::kDouble).contiguous();
  const auto* const values = static_cast<const double*>(dense.data_ptr());
  return {values, values + dense.numel()};
}

at::Tensor random_operand(const at::Tensor& as, std::uint64_t seed, const std::string& name, bool of_many_sizes) {
  const auto count = static_cast<std::size_t>(as.numel());
  std::vector<float> high = initial_values(seed, name, count, 1.0F);
  std::vector<double> values(high.begin(), high.end());
  if (as.scalar_type() == at::kDouble) {
    const std::vector<float> low = initial_values(seed, name + "#low", count, 0x1p-25F);
    for (std::size_t i = 0; i < count; ++i) values[i] += low[i];
  }
  if (of_many_sizes) {
    for (std::size_t i = 0; i < count; ++i)
      values[i] = std::ldexp(values[i], static_cast<int>(i * 0x9E3779B9U >> 7 & 7U) - 4);
  }
  return at::from_blob(values.data(), {static_cast<std::int64_t>(count)}, at::kDouble)
      .view(as.sizes())
      .to(as.scalar_type());
}

}  // namespace reprobench

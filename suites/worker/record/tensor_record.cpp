#include "suites/worker/record/tensor_record.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include <ATen/core/Tensor.h>

#include "kernels/sketch/sketch.hpp"
#include "suites/worker/record/host_tensor.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

template <class T>
std::span<const T> elements(const at::Tensor& contiguous) {
  return {static_cast<const T*>(contiguous.data_ptr()), static_cast<std::size_t>(contiguous.numel())};
}

Sketch sketch_by_type(const at::Tensor& contiguous) {
  switch (contiguous.scalar_type()) {
    case at::kFloat:
      return sketch(elements<float>(contiguous));
    case at::kDouble:
      return sketch(elements<double>(contiguous));
    case at::kBFloat16:
      return sketch(elements<Bfloat16>(contiguous));
    case at::kLong:
      return sketch(elements<std::int64_t>(contiguous));
    default:
      // Every narrower type is exact in one of these.
      return sketch_by_type(contiguous.to(contiguous.is_floating_point() ? at::kFloat : at::kLong));
  }
}

// Names as LibTorch prints them against the names in records. By name, because the oldest release knows no fp8.
struct DtypeName {
  std::string_view torch;
  const char* record;
};

constexpr DtypeName kDtypeNames[] = {{"Float", "float32"},
                                     {"Double", "float64"},
                                     {"BFloat16", "bfloat16"},
                                     {"Half", "float16"},
                                     {"Float8_e4m3fn", "float8_e4m3fn"},
                                     {"Float8_e5m2", "float8_e5m2"},
                                     {"Long", "int64"},
                                     {"Int", "int32"},
                                     {"Short", "int16"},
                                     {"Char", "int8"},
                                     {"Byte", "uint8"},
                                     {"Bool", "bool"}};

// Elements with all exponent bits set. By blocks, so that the count within one stays as narrow as the elements and the
// loop becomes vector code.
template <class Bits>
[[gnu::optimize("O3")]] std::int64_t not_finite(std::span<const std::byte> bytes, Bits exponent) {
  constexpr std::size_t kBlock = 4096;
  const auto* elements = reinterpret_cast<const Bits*>(bytes.data());
  const std::size_t count = bytes.size() / sizeof(Bits);
  std::int64_t total = 0;
  for (std::size_t first = 0; first < count; first += kBlock) {
    const std::size_t last = std::min(count, first + kBlock);
    Bits found = 0;
    for (std::size_t i = first; i < last; ++i) found += static_cast<Bits>((elements[i] & exponent) == exponent);
    total += static_cast<std::int64_t>(found);
  }
  return total;
}

}  // namespace

std::string dtype_name(const at::Tensor& tensor) {
  const std::string_view name = at::toString(tensor.scalar_type());
  for (const DtypeName& row : kDtypeNames) {
    if (row.torch == name) return row.record;
  }
  throw RunFailure("unsupported", "no record for tensors of " + std::string(name));
}

Digest digest_of(const at::Tensor& tensor) {
  if (!tensor.is_contiguous() || !tensor.device().is_cpu()) return digest_of(on_host(tensor));
  const auto shape = tensor.sizes();
  return tensor_digest(dtype_name(tensor), {shape.data(), shape.size()},
                       {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()});
}

std::int64_t not_finite_count(const at::Tensor& tensor) {
  if (!tensor.is_floating_point() || tensor.element_size() == 1) return 0;
  const at::Tensor contiguous = on_host(tensor);
  const auto bytes = std::span(static_cast<const std::byte*>(contiguous.data_ptr()), contiguous.nbytes());
  switch (contiguous.scalar_type()) {
    case at::kDouble:
      return not_finite<std::uint64_t>(bytes, 0x7ff0'0000'0000'0000U);
    case at::kHalf:
      return not_finite<std::uint16_t>(bytes, 0x7c00U);
    case at::kBFloat16:
      return not_finite<std::uint16_t>(bytes, 0x7f80U);
    default:
      return not_finite<std::uint32_t>(bytes, 0x7f80'0000U);
  }
}

Sketch sketch_of(const at::Tensor& tensor) { return sketch_by_type(on_host(tensor)); }

ExactValue exact_value(const at::Tensor& scalar) {
  const at::Tensor here = on_host(scalar);
  if (here.scalar_type() == at::kDouble) return {*static_cast<const double*>(here.data_ptr()), true};
  return {static_cast<double>(*static_cast<const float*>(here.data_ptr())), false};
}

TensorSketch to_record(const Sketch& s) { return {s.nan_count, s.inf_count, s.min, s.max, s.sum, s.l2, s.signed_sums}; }

}  // namespace reprobench

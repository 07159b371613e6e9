#include "suites/worker/tensor_record.hpp"

#include <string_view>

#include <ATen/core/Tensor.h>

#include "kernels/sketch/sketch.hpp"
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

}  // namespace

std::string dtype_name(const at::Tensor& tensor) {
  const std::string_view name = at::toString(tensor.scalar_type());
  for (const DtypeName& row : kDtypeNames) {
    if (row.torch == name) return row.record;
  }
  throw RunFailure("unsupported", "no record for tensors of " + std::string(name));
}

Digest digest_of(const at::Tensor& tensor) {
  if (!tensor.is_contiguous()) return digest_of(tensor.detach().contiguous());
  const auto shape = tensor.sizes();
  return tensor_digest(dtype_name(tensor), {shape.data(), shape.size()},
                       {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()});
}

std::int64_t not_finite_count(const at::Tensor& tensor) {
  if (!tensor.is_floating_point()) return 0;
  const at::Tensor contiguous = tensor.detach().contiguous();
  const auto count = [&](auto exponent_of) {
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < contiguous.numel(); ++i) found += exponent_of(i) ? 1 : 0;
    return found;
  };
  // Not finite is: all exponent bits set.
  switch (contiguous.element_size()) {
    case 8: {
      const auto* bits = static_cast<const std::uint64_t*>(contiguous.data_ptr());
      return count([bits](std::int64_t i) { return (bits[i] & 0x7ff0000000000000U) == 0x7ff0000000000000U; });
    }
    case 4: {
      const auto* bits = static_cast<const std::uint32_t*>(contiguous.data_ptr());
      return count([bits](std::int64_t i) { return (bits[i] & 0x7f800000U) == 0x7f800000U; });
    }
    case 2: {
      const auto* bits = static_cast<const std::uint16_t*>(contiguous.data_ptr());
      const std::uint16_t mask = contiguous.scalar_type() == at::kHalf ? 0x7c00 : 0x7f80;
      return count([bits, mask](std::int64_t i) { return (bits[i] & mask) == mask; });
    }
    default:
      return 0;
  }
}

TensorSketch sketch_of(const at::Tensor& tensor) { return to_record(sketch_by_type(tensor.detach().contiguous())); }

TensorSketch to_record(const Sketch& s) { return {s.nan_count, s.inf_count, s.min, s.max, s.sum, s.l2, s.signed_sums}; }

}  // namespace reprobench

#include "suites/worker/tensor_record.hpp"

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
      throw RunFailure("unsupported", "no sketch for tensors of " + dtype_name(contiguous));
  }
}

}  // namespace

std::string dtype_name(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kBFloat16:
      return "bfloat16";
    case at::kHalf:
      return "float16";
    case at::kLong:
      return "int64";
    case at::kInt:
      return "int32";
    case at::kByte:
      return "uint8";
    case at::kBool:
      return "bool";
    default:
      throw RunFailure("unsupported", std::string("no record for tensors of ") + at::toString(tensor.scalar_type()));
  }
}

Digest digest_of(const at::Tensor& tensor) {
  if (!tensor.is_contiguous()) return digest_of(tensor.detach().contiguous());
  const auto shape = tensor.sizes();
  return tensor_digest(dtype_name(tensor), {shape.data(), shape.size()},
                       {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()});
}

TensorSketch sketch_of(const at::Tensor& tensor) {
  const Sketch s = sketch_by_type(tensor.detach().contiguous());
  return {s.nan_count, s.inf_count, s.min, s.max, s.sum, s.l2, s.signed_sums};
}

}  // namespace reprobench

#include "suites/worker/cuda/tensor_contents.hpp"

#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAStream.h>

#include "suites/worker/record/tensor_record.hpp"

namespace reprobench {
namespace {

CuStream current_stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

// Types the kernels do not know are exact in one that they do, as on the host.
std::pair<at::ScalarType, SketchType> sketched_as(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return {at::kFloat, SketchType::fp32};
    case at::kDouble:
      return {at::kDouble, SketchType::fp64};
    case at::kBFloat16:
      return {at::kBFloat16, SketchType::bf16};
    default:
      return tensor.is_floating_point() ? std::pair(at::kFloat, SketchType::fp32)
                                        : std::pair(at::kLong, SketchType::int64);
  }
}

}  // namespace

Digest TensorContents::digest(const at::Tensor& tensor) {
  if (tensor.device().is_cpu()) return digest_of(tensor);  // kept there by offload
  const at::Tensor dense = tensor.detach().contiguous();
  const DeviceBytes bytes{DevicePointer<const unsigned char>::of(dense.data_ptr()), dense.nbytes()};
  digest_.enqueue({&bytes, 1}, current_stream());
  const auto shape = dense.sizes();
  return tensor_digest(dtype_name(dense), {shape.data(), shape.size()}, digest_.take().front());
}

Sketch TensorContents::sketch(const at::Tensor& tensor) {
  if (tensor.device().is_cpu()) return sketch_of(tensor);
  const auto [type, sketch_type] = sketched_as(tensor);
  const at::Tensor dense = tensor.detach().to(type).contiguous();
  const SketchTensor content{sketch_type, DevicePointer<const unsigned char>::of(dense.data_ptr()),
                             static_cast<std::uint64_t>(dense.numel())};
  sketch_.enqueue({&content, 1}, current_stream());
  return sketch_.take().front();
}

}  // namespace reprobench

// Digest and sketch of single tensors in a GPU's memory, by this project's kernels: for traces of every tensor, which
// would otherwise copy all tensors to the host.
#pragma once

#include "kernels/digest/digest_device.hpp"
#include "kernels/sketch/sketch_device.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

class TensorContents {
 public:
  // `kernels` outlives it.
  explicit TensorContents(DeviceKernels& kernels) : digest_(kernels), sketch_(kernels) {}

  // Both return the same bits as digest_of and sketch_of (tensor_record.hpp) for the tensor's copy on the host. Both
  // wait for the work in the current stream.
  Digest digest(const at::Tensor& tensor);
  Sketch sketch(const at::Tensor& tensor);

 private:
  DeviceDigest digest_;
  DeviceSketch sketch_;
};

}  // namespace reprobench

// Digest and sketch of single tensors in a GPU's memory, by this project's kernels: for traces of every tensor, which
// would otherwise carry all of them to the host.
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

  // The same bits as digest_of and sketch_of (tensor_record.hpp) of the tensor's copy on the host. Both wait for what
  // the current stream holds.
  Digest digest(const at::Tensor& tensor);
  Sketch sketch(const at::Tensor& tensor);

 private:
  DeviceDigest digest_;
  DeviceSketch sketch_;
};

}  // namespace reprobench

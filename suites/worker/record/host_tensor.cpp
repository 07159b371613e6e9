#include "suites/worker/record/host_tensor.hpp"

#include <ATen/core/Tensor.h>

namespace reprobench {

at::Tensor on_host(const at::Tensor& tensor) {
  const at::Tensor here = tensor.device().is_cpu() ? tensor : tensor.to(at::kCPU);
  return here.detach().contiguous();
}

}  // namespace reprobench

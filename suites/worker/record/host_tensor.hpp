// Brings the bytes of a tensor to where this program can read them.
#pragma once

namespace at {
class Tensor;
}

namespace reprobench {

// `tensor` detached, dense in logical row-major order and in host memory: `tensor` itself if it is that already, else a
// copy. A copy from a GPU waits for the work that writes the tensor.
at::Tensor on_host(const at::Tensor& tensor);

}  // namespace reprobench

#include "suites/worker/cuda/recorded_graph.hpp"

#include <ATen/cuda/CUDAGraph.h>
#include <cuda_runtime_api.h>

#include "suites/worker/cuda/cuda_failure.hpp"

namespace reprobench {
namespace {

class CapturedGraph final : public RecordedWork {
 public:
  explicit CapturedGraph(const std::function<void()>& work) {
    check_cuda(cudaDeviceSynchronize(), "waiting before a capture");
    graph_.capture_begin();
    try {
      work();
    } catch (...) {
      try {
        graph_.capture_end();
      } catch (const std::exception&) {
        // What broke the capture is the first exception, which is on its way.
      }
      throw;
    }
    graph_.capture_end();
  }

  void replay() override { graph_.replay(); }

 private:
  at::cuda::CUDAGraph graph_;
};

}  // namespace

std::unique_ptr<RecordedWork> capture_graph(const std::function<void()>& work) {
  return std::make_unique<CapturedGraph>(work);
}

}  // namespace reprobench

#include "suites/worker/cuda/event_pool.hpp"

#include "suites/worker/cuda/cuda_failure.hpp"

namespace reprobench {

// A failure to destroy an event at the end of the process changes nothing any more.
EventPool::~EventPool() {
  for (cudaEvent_t event : free_) static_cast<void>(cudaEventDestroy(event));
}

cudaEvent_t EventPool::take() {
  if (!free_.empty()) {
    cudaEvent_t event = free_.back();
    free_.pop_back();
    return event;
  }
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreate(&event), "making an event");
  return event;
}

}  // namespace reprobench

// Events with time stamps, made once and used again: making one costs more than recording it.
#pragma once

#include <vector>

#include <cuda_runtime_api.h>

namespace reprobench {

class EventPool {
 public:
  EventPool() = default;
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  cudaEvent_t take();
  void give_back(cudaEvent_t event) { free_.push_back(event); }

 private:
  std::vector<cudaEvent_t> free_;
};

}  // namespace reprobench

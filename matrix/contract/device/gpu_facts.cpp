#include "matrix/contract/device/gpu_facts.hpp"

namespace reprobench {

std::string unusable_because(const GpuFacts& gpu) {
  // CUDA then sees MIG instances and not the GPU; which of them a cell would get is not decided here.
  if (gpu.mig == "on") return "MIG mode is on";
  if (gpu.compute_mode == "prohibited") return "its compute mode is prohibited";
  if (gpu.uuid.empty()) return "the driver tells no UUID to name it by";
  return "";
}

}  // namespace reprobench

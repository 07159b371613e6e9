// The driver and its GPUs, asked through NVML. Read-only: nothing here changes a clock, a mode or a limit, ever.
#pragma once

#include <string>
#include <vector>

#include "matrix/plan/host_facts.hpp"

namespace reprobench {

struct NvidiaFacts {
  std::string driver;  // empty: no driver, or NVML did not answer
  std::vector<GpuFacts> gpus;
};

// Opens `library` at run time, so that one binary runs on hosts with and without a GPU. Never throws: no library, no
// GPUs.
NvidiaFacts query_nvml(const char* library = "libnvidia-ml.so.1");

}  // namespace reprobench

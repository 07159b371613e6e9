// Read-only checks of a host's GPUs, their driver, and everything else that may keep a stack from using them. Each is a
// pure function over facts gathered before (gpu_situation_probe.hpp); the rows are a table in gpu_preflight.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matrix/cli/doctor/preflight_line.hpp"
#include "matrix/host/gpu_reading.hpp"
#include "matrix/plan/compat_facts.hpp"

namespace reprobench {

// A stack that has CUDA.
struct CudaStack {
  std::string name;
  std::string cuda;     // "12.8"
  std::string toolkit;  // "12.8.1", where the facts know it; else as `cuda`
};

struct ContainerToolkit {
  std::string version;  // "1.17.8"; empty: it does not say
  std::string mode;     // "cdi", "auto", "legacy"; empty: no configuration
};

// A shared library the loader would find, in its order.
struct LoaderLibrary {
  std::string name;  // "libcuda.so.1"
  std::string path;
};

struct GpuSituation {
  GpuInventory inventory;
  CompatFacts facts;
  std::vector<CudaStack> stacks;
  std::optional<ContainerToolkit> toolkit;     // nothing: not installed
  std::vector<LoaderLibrary> libraries;        // libcuda and libcudart, without links to the same file
  std::string driver_load_problem;             // why libcuda.so.1 cannot be loaded; empty: it can
  std::int64_t shm_bytes = -1;                 // size of /dev/shm; -1: there is none
  std::optional<std::string> visible_devices;  // $CUDA_VISIBLE_DEVICES
};

PreflightLines check_nvml(const GpuSituation& situation);
PreflightLines check_driver_of_stacks(const GpuSituation& situation);
PreflightLines check_driver_branch(const GpuSituation& situation);
PreflightLines check_container_toolkit(const GpuSituation& situation);
PreflightLines check_persistence(const GpuSituation& situation);
PreflightLines check_ecc(const GpuSituation& situation);
PreflightLines check_mig(const GpuSituation& situation);
PreflightLines check_clocks(const GpuSituation& situation);
PreflightLines check_pcie(const GpuSituation& situation);
PreflightLines check_processes(const GpuSituation& situation);
PreflightLines check_shared_memory(const GpuSituation& situation);
PreflightLines check_driver_library(const GpuSituation& situation);
PreflightLines check_cuda_runtimes(const GpuSituation& situation);
PreflightLines check_visible_devices(const GpuSituation& situation);

// The findings of all checks, in this order; on a host without a driver only those of the first check.
PreflightLines check_gpus(const GpuSituation& situation);

}  // namespace reprobench

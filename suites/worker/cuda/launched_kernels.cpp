#include "suites/worker/cuda/launched_kernels.hpp"

#include <memory>
#include <set>
#include <string_view>

#include <cuda_runtime_api.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include "suites/worker/cuda/cuda_failure.hpp"

namespace reprobench {
namespace {

namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

// Kineto names what is no kernel "Memcpy DtoD (Device -> Device)", "Memset (Device)", "Stream Wait Event" ...
bool is_kernel(std::string_view name) {
  for (const std::string_view other : {"Memcpy", "Memset", "Stream ", "Event ", "Context "}) {
    if (name.starts_with(other)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> launched_kernels(const std::function<void()>& work) {
  check_cuda(cudaDeviceSynchronize(), "waiting before watching kernels");
  const std::set<ActivityType> activities = {ActivityType::CUDA};
  const ProfilerConfig config(ProfilerState::KINETO);
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
  try {
    work();
    check_cuda(cudaDeviceSynchronize(), "waiting for watched kernels");
  } catch (...) {
    profiler::disableProfiler();
    throw;
  }
  const std::unique_ptr<profiler::ProfilerResult> seen = profiler::disableProfiler();
  std::vector<std::string> names;
  for (const profiler::KinetoEvent& event : seen->events()) {
    if (event.deviceType() == c10::DeviceType::CUDA && is_kernel(event.name())) names.push_back(event.name());
  }
  return names;
}

}  // namespace reprobench

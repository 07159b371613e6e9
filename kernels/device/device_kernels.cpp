#include "kernels/device/device_kernels.hpp"

#include <algorithm>

namespace reprobench {

DeviceKernels::~DeviceKernels() {
  if (!context_.try_bind()) return;
  for (const auto& [name, module] : modules_) context_.driver().module_unload(module);
}

std::vector<LoadedModule> DeviceKernels::loaded() const {
  const std::lock_guard lock(mutex_);
  return loaded_;
}

CuFunction DeviceKernels::function(std::string_view module, std::string_view kernel) {
  const std::lock_guard lock(mutex_);
  if (const auto found = functions_.find(kernel); found != functions_.end()) return found->second;
  const CuModule loaded = load(module);
  const std::string name(kernel);
  CuFunction function = nullptr;
  context_.driver().check(context_.driver().module_function(&function, loaded, name.c_str()), "cuModuleGetFunction");
  functions_.emplace(name, function);
  return function;
}

CuModule DeviceKernels::load(std::string_view module) {
  if (const auto found = modules_.find(module); found != modules_.end()) return found->second;
  const ComputeCapability capability = context_.compute_capability();
  const int architecture = architecture_for(capability, nvrtc_.architectures());
  if (architecture == 0) {
    throw DeviceError(DeviceErrorCode::no_kernel_image, "NVRTC " + nvrtc_.version() + " compiles nothing for " +
                                                            context_.name() + " (sm_" +
                                                            std::to_string(capability.number()) + ")");
  }
  const CachedCubin cached = cache_.get(nvrtc_, kernel_source(module), architecture);
  context_.bind();
  CuModule loaded = nullptr;
  context_.driver().check(context_.driver().module_load(&loaded, cached.cubin.data()), "cuModuleLoadData");
  modules_.emplace(module, loaded);
  loaded_.push_back({std::string(module), architecture, cached.outcome, cached.not_stored});
  return loaded;
}

void DeviceKernels::launch_function(CuFunction function, std::uint32_t blocks, std::uint32_t threads,
                                    DeviceStream stream, void** arguments) {
  if (blocks == 0) return;
  context_.bind();
  context_.driver().check(
      context_.driver().launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr), "cuLaunchKernel");
}

std::uint32_t DeviceKernels::resident_blocks(CuFunction function, std::uint32_t threads) {
  const std::lock_guard lock(mutex_);
  if (const auto found = resident_blocks_.find(function); found != resident_blocks_.end()) return found->second;
  context_.bind();
  int blocks = 0;
  context_.driver().check(context_.driver().resident_blocks(&blocks, function, static_cast<int>(threads), 0),
                          "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  const auto resident = static_cast<std::uint32_t>(std::max(1, blocks) * context_.multiprocessors());
  resident_blocks_.emplace(function, resident);
  return resident;
}

}  // namespace reprobench

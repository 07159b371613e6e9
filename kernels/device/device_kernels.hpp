// The kernels of this project on one device: compiled on first use by the stack's NVRTC, through the cache, and
// launched on any stream. Safe to use from several threads.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/device/cubin_cache.hpp"
#include "kernels/device/device_context.hpp"
#include "kernels/device/launch.hpp"

namespace reprobench {

// A module that was loaded, for the record.
struct LoadedModule {
  std::string module;
  int architecture = 0;
  CacheOutcome outcome = CacheOutcome::hit;
  std::string not_stored;  // as in CachedCubin
};

class DeviceKernels {
 public:
  // `context` outlives it. Nothing is compiled yet.
  DeviceKernels(const DeviceContext& context, Nvrtc nvrtc, std::filesystem::path cache_folder)
      : context_(context), nvrtc_(std::move(nvrtc)), cache_(std::move(cache_folder)) {}
  ~DeviceKernels();
  DeviceKernels(const DeviceKernels&) = delete;
  DeviceKernels& operator=(const DeviceKernels&) = delete;

  const DeviceContext& context() const { return context_; }
  const Nvrtc& nvrtc() const { return nvrtc_; }
  std::vector<LoadedModule> loaded() const;

  // Enqueues `blocks` blocks of Kernel::kThreads threads. Throws DeviceError; a fault inside the kernel surfaces in a
  // later call or at the next wait.
  template <class Kernel, class... Arguments>
  requires LaunchableWith<Kernel, Arguments...>
  void launch(DeviceStream stream, std::uint32_t blocks, Arguments... arguments) {
    LaunchArguments<typename Kernel::Signature> packed(arguments...);
    launch_function(function(Kernel::kModule, Kernel::kName), blocks, Kernel::kThreads, stream, packed.addresses());
  }

  // How many blocks of the kernel the whole device runs at a time: the grid for kernels that loop over their work.
  template <class Kernel>
  std::uint32_t resident_blocks() {
    return resident_blocks(function(Kernel::kModule, Kernel::kName), Kernel::kThreads);
  }

  // The grid of such a kernel for `pieces` pieces of work, if each block does one at a time; at least one block.
  template <class Kernel>
  std::uint32_t blocks_for(std::uint64_t pieces) {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(std::max<std::uint64_t>(1, pieces), resident_blocks<Kernel>()));
  }
  // The same if each thread does one piece at a time.
  template <class Kernel>
  std::uint32_t blocks_for_threads(std::uint64_t pieces) {
    return blocks_for<Kernel>((pieces + Kernel::kThreads - 1) / Kernel::kThreads);
  }

 private:
  CuFunction function(std::string_view module, std::string_view kernel);
  CuModule load(std::string_view module);
  void launch_function(CuFunction function, std::uint32_t blocks, std::uint32_t threads, DeviceStream stream,
                       void** arguments);
  std::uint32_t resident_blocks(CuFunction function, std::uint32_t threads);

  const DeviceContext& context_;
  Nvrtc nvrtc_;
  CubinCache cache_;
  mutable std::mutex mutex_;
  std::map<std::string, CuModule, std::less<>> modules_;
  std::map<std::string, CuFunction, std::less<>> functions_;
  std::map<CuFunction, std::uint32_t> resident_blocks_;
  std::vector<LoadedModule> loaded_;
};

}  // namespace reprobench

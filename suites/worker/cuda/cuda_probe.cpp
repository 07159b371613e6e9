#include "suites/worker/cuda/cuda_probe.hpp"

#include <cstdio>
#include <cstring>
#include <memory>

#include <ATen/detail/CUDAHooksInterface.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "suites/worker/cuda/cuda_failure.hpp"
#include "suites/worker/device.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

// Attributes keep their numbers when a toolkit drops the matching member of cudaDeviceProp, as 13.0 did for clocks.
std::int64_t attribute(cudaDeviceAttr name, int device) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, name, device) == cudaSuccess ? value : 0;
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    text += digits;
  }
  return text;
}

// CUDA packs 12.8 as 12080.
std::string driver_cuda() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) return "";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Without the driver's library the runtime says "driver too old", which sends people to the wrong place.
bool has_driver() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) return false;
  dlclose(driver);
  return true;
}

}  // namespace

std::string cuda_build_text() { return at::detail::getCUDAHooks().showConfig(); }

DeviceFacts probe_device(int index) {
  const auto properties = std::make_unique<cudaDeviceProp>();
  check_cuda(cudaGetDeviceProperties(properties.get(), index), "reading the device's properties");
  DeviceFacts device;
  device.name = properties->name;
  device.compute_capability = std::to_string(properties->major) + "." + std::to_string(properties->minor);
  device.uuid = uuid_text(properties->uuid);
  device.sm_count = properties->multiProcessorCount;
  device.memory_bytes = static_cast<std::int64_t>(properties->totalGlobalMem);
  device.l2_bytes = attribute(cudaDevAttrL2CacheSize, index);
  device.clock_hz = attribute(cudaDevAttrClockRate, index) * 1000;
  device.memory_clock_hz = attribute(cudaDevAttrMemoryClockRate, index) * 1000;
  device.memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, index);
  device.ecc = properties->ECCEnabled != 0;
  device.mig = device.name.find(" MIG ") != std::string::npos;
  char bus_id[32] = {};
  if (cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, index) == cudaSuccess) device.pci_bus_id = bus_id;
  device.driver_cuda = driver_cuda();
  device.compute = coverage_of(cuda_build_text(), device.compute_capability);
  return device;
}

std::vector<DeviceFacts> visible_devices(std::string& problem) {
  problem.clear();
  if (!has_driver()) {
    problem = "no_driver: libcuda.so.1 is not on this host";
    return {};
  }
  int count = 0;
  std::vector<DeviceFacts> devices;
  try {
    check_cuda(cudaGetDeviceCount(&count), "counting devices");
    for (int index = 0; index < count; ++index) devices.push_back(probe_device(index));
    if (devices.empty()) problem = "no_device: the driver shows this process no GPU";
  } catch (const RunFailure& failure) {
    problem = failure.cause() + ": " + failure.what();
  }
  return devices;
}

DeviceFacts first_device() {
  std::string problem;
  std::vector<DeviceFacts> devices = visible_devices(problem);
  if (!devices.empty()) return std::move(devices.front());
  const auto colon = problem.find(": ");
  throw RunFailure(problem.substr(0, colon), problem.substr(colon + 2));
}

}  // namespace reprobench

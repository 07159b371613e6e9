// NVIDIA's driver API, opened at run time: the library comes with the driver, and a binary that links it starts on no
// machine without one. Prototypes follow "CUDA Driver API" (cuda.h 11.0 to 13.x); all return a CUresult, 0 on success.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/device/device_error.hpp"

namespace reprobench {

// Opaque handles, as in cuda.h. A runtime API stream (cudaStream_t) is the same pointer.
using CuContext = void*;
using CuModule = void*;
using CuFunction = void*;
using CuStream = void*;
using CuEvent = void*;
using CuAddress = std::uint64_t;

// The device attributes this project reads (cuda.h, CUdevice_attribute).
enum class CuDeviceAttribute : int {
  max_threads_per_block = 1,
  warp_size = 10,
  clock_rate_khz = 13,
  multiprocessors = 16,
  memory_clock_khz = 36,
  memory_bus_bits = 37,
  l2_bytes = 38,
  compute_capability_major = 75,
  compute_capability_minor = 76,
};

enum class CuFunctionAttribute : int { shared_bytes = 1, local_bytes = 3, registers = 4 };

// The version-suffixed symbols are the ones every driver since CUDA 4 has.
struct CudaDriver {
  int (*init)(unsigned flags) = nullptr;
  int (*driver_version)(int* version) = nullptr;  // 12080 is CUDA 12.8
  int (*error_name)(int result, const char** name) = nullptr;
  int (*error_text)(int result, const char** text) = nullptr;

  int (*device_count)(int* count) = nullptr;
  int (*device)(int* device, int ordinal) = nullptr;
  int (*device_name)(char* name, int length, int device) = nullptr;
  int (*device_attribute)(int* value, CuDeviceAttribute attribute, int device) = nullptr;
  int (*device_memory_bytes)(std::size_t* bytes, int device) = nullptr;

  int (*primary_context_retain)(CuContext* context, int device) = nullptr;
  int (*primary_context_release)(int device) = nullptr;
  int (*context_current)(CuContext* context) = nullptr;
  int (*context_set_current)(CuContext context) = nullptr;
  int (*context_synchronize)() = nullptr;
  int (*memory_info)(std::size_t* free_bytes, std::size_t* total_bytes) = nullptr;

  int (*module_load)(CuModule* module, const void* image) = nullptr;
  int (*module_unload)(CuModule module) = nullptr;
  int (*module_function)(CuFunction* function, CuModule module, const char* name) = nullptr;
  int (*function_attribute)(int* value, CuFunctionAttribute attribute, CuFunction function) = nullptr;
  int (*resident_blocks)(int* blocks, CuFunction function, int threads, std::size_t dynamic_shared_bytes) = nullptr;
  int (*launch)(CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned dynamic_shared_bytes, CuStream stream, void** arguments,
                void** extra) = nullptr;

  int (*allocate)(CuAddress* address, std::size_t bytes) = nullptr;
  int (*free)(CuAddress address) = nullptr;
  int (*allocate_host)(void** memory, std::size_t bytes) = nullptr;
  int (*free_host)(void* memory) = nullptr;
  int (*copy_to_device)(CuAddress to, const void* from, std::size_t bytes, CuStream stream) = nullptr;
  int (*copy_to_host)(void* to, CuAddress from, std::size_t bytes, CuStream stream) = nullptr;
  int (*copy_on_device)(CuAddress to, CuAddress from, std::size_t bytes, CuStream stream) = nullptr;
  int (*fill_bytes)(CuAddress to, unsigned char value, std::size_t bytes, CuStream stream) = nullptr;

  int (*stream_create)(CuStream* stream, unsigned flags) = nullptr;
  int (*stream_destroy)(CuStream stream) = nullptr;
  int (*stream_synchronize)(CuStream stream) = nullptr;
  int (*event_create)(CuEvent* event, unsigned flags) = nullptr;
  int (*event_destroy)(CuEvent event) = nullptr;
  int (*event_record)(CuEvent event, CuStream stream) = nullptr;
  int (*event_synchronize)(CuEvent event) = nullptr;
  int (*event_elapsed_ms)(float* milliseconds, CuEvent start, CuEvent end) = nullptr;

  // Throws DeviceError for a result other than 0; `call` says what was tried.
  void check(int result, const char* call) const;
};

// Opens the library, binds every function and initialises. Throws DeviceError: no_driver, driver_too_old, no_device, …
CudaDriver open_cuda_driver(const std::string& library = "libcuda.so.1");

}  // namespace reprobench

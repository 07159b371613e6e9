// NVIDIA's run-time compiler, opened at run time from the stack under test: CUDA C++ text in, machine code for one
// architecture out, with the resources that each kernel takes. It needs neither a GPU nor a driver. Prototypes follow
// "NVRTC" of the CUDA toolkit (nvrtc.h 11.2 to 13.x).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/device/device_error.hpp"
#include "kernels/device/kernel_source.hpp"

namespace reprobench {

struct ComputeCapability {
  int major = 0;
  int minor = 0;

  int number() const { return major * 10 + minor; }  // 90 for sm_90
  friend bool operator==(const ComputeCapability&, const ComputeCapability&) = default;
};

// The resources of one kernel, as ptxas reports them.
struct KernelResources {
  std::string kernel;
  int registers = 0;
  int stack_bytes = 0;
  int spill_bytes = 0;  // the larger of stores and loads
  int shared_bytes = 0;
};

struct CompiledModule {
  std::string cubin;
  std::vector<KernelResources> resources;
};

class Nvrtc {
 public:
  // A path, or a soname such as libnvrtc.so.12. Throws DeviceError(no_compiler).
  explicit Nvrtc(const std::string& library);

  int major() const { return major_; }
  int minor() const { return minor_; }
  std::string version() const { return std::to_string(major_) + "." + std::to_string(minor_); }
  // Numbers such as 90, ascending.
  const std::vector<int>& architectures() const { return architectures_; }

  // Throws DeviceError: kernel_rejected with the compiler's log, no_kernel_image for an architecture it does not know.
  CompiledModule compile(const KernelSource& source, int architecture) const;

 private:
  using Program = void*;
  struct Functions {
    int (*version)(int*, int*) = nullptr;
    int (*architecture_count)(int*) = nullptr;
    int (*architectures)(int*) = nullptr;
    int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
    int (*destroy)(Program*) = nullptr;
    int (*compile)(Program, int, const char* const*) = nullptr;
    int (*log_bytes)(Program, std::size_t*) = nullptr;
    int (*log)(Program, char*) = nullptr;
    int (*cubin_bytes)(Program, std::size_t*) = nullptr;
    int (*cubin)(Program, char*) = nullptr;
    const char* (*error_text)(int) = nullptr;
  };
  class OwnedProgram;

  Functions functions_;
  int major_ = 0;
  int minor_ = 0;
  std::vector<int> architectures_;
};

// The options of every compilation, architecture included; they are part of a cubin's identity. Without --fmad=false a
// product and a sum may be rounded only once, and the bits would differ from the CPU's.
std::vector<std::string> compile_options(int architecture);

// The architecture to compile for: machine code runs on devices of the same major and the same or a higher minor
// version (CUDA C++ Programming Guide, "Binary Compatibility"). 0 if none of `supported` fits.
int architecture_for(ComputeCapability device, std::span<const int> supported);

// Reads the lines that `--ptxas-options=-v` adds to the log.
std::vector<KernelResources> parse_resources(std::string_view log);

}  // namespace reprobench

#include "kernels/device/nvrtc.hpp"

#include <algorithm>

#include "kernels/device/shared_library.hpp"

namespace reprobench {

// Destroys the program however the compilation ends.
class Nvrtc::OwnedProgram {
 public:
  OwnedProgram(const Functions& functions, const KernelSource& source) : functions_(functions) {
    std::vector<std::string> owned{std::string(source.text), std::string(source.module) + ".cu"};
    for (const KernelHeader& header : source.headers) {
      owned.emplace_back(header.text);
      owned.emplace_back(header.name);
    }
    std::vector<const char*> texts;
    std::vector<const char*> names;
    for (std::size_t i = 2; i < owned.size(); i += 2) {
      texts.push_back(owned[i].c_str());
      names.push_back(owned[i + 1].c_str());
    }
    const int result = functions_.create(&program_, owned[0].c_str(), owned[1].c_str(), static_cast<int>(texts.size()),
                                         texts.data(), names.data());
    if (result != 0) throw DeviceError(DeviceErrorCode::kernel_rejected, functions_.error_text(result));
  }
  ~OwnedProgram() { functions_.destroy(&program_); }
  OwnedProgram(const OwnedProgram&) = delete;
  OwnedProgram& operator=(const OwnedProgram&) = delete;

  int compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    return functions_.compile(program_, static_cast<int>(pointers.size()), pointers.data());
  }

  std::string log() const { return bytes_of(functions_.log_bytes, functions_.log); }
  std::string cubin() const { return bytes_of(functions_.cubin_bytes, functions_.cubin); }

 private:
  std::string bytes_of(int (*size)(Program, std::size_t*), int (*read)(Program, char*)) const {
    std::size_t count = 0;
    if (size(program_, &count) != 0) return {};
    std::string bytes(count, '\0');
    if (read(program_, bytes.data()) != 0) return {};
    return bytes;
  }

  const Functions& functions_;
  Program program_ = nullptr;
};

Nvrtc::Nvrtc(const std::string& library) {
  const SharedLibrary opened(library);
  if (!opened.opened()) throw DeviceError(DeviceErrorCode::no_compiler, opened.error());
  Functions& f = functions_;
  const bool complete =
      opened.bind("nvrtcVersion", f.version) && opened.bind("nvrtcGetNumSupportedArchs", f.architecture_count) &&
      opened.bind("nvrtcGetSupportedArchs", f.architectures) && opened.bind("nvrtcCreateProgram", f.create) &&
      opened.bind("nvrtcDestroyProgram", f.destroy) && opened.bind("nvrtcCompileProgram", f.compile) &&
      opened.bind("nvrtcGetProgramLogSize", f.log_bytes) && opened.bind("nvrtcGetProgramLog", f.log) &&
      opened.bind("nvrtcGetCUBINSize", f.cubin_bytes) && opened.bind("nvrtcGetCUBIN", f.cubin) &&
      opened.bind("nvrtcGetErrorString", f.error_text);
  if (!complete) throw DeviceError(DeviceErrorCode::no_compiler, library + " lacks a function of NVRTC 11.2");
  int count = 0;
  if (f.version(&major_, &minor_) != 0 || f.architecture_count(&count) != 0) {
    throw DeviceError(DeviceErrorCode::no_compiler, library + " does not tell its version");
  }
  architectures_.resize(static_cast<std::size_t>(count));
  f.architectures(architectures_.data());
  std::sort(architectures_.begin(), architectures_.end());
}

CompiledModule Nvrtc::compile(const KernelSource& source, int architecture) const {
  if (!std::binary_search(architectures_.begin(), architectures_.end(), architecture)) {
    throw DeviceError(DeviceErrorCode::no_kernel_image,
                      "NVRTC " + version() + " compiles nothing for sm_" + std::to_string(architecture));
  }
  OwnedProgram program(functions_, source);
  const int result = program.compile(compile_options(architecture));
  if (result != 0) {
    throw DeviceError(DeviceErrorCode::kernel_rejected, std::string(source.module) + ".cu for sm_" +
                                                            std::to_string(architecture) + ": " +
                                                            functions_.error_text(result) + "\n" + program.log());
  }
  return {program.cubin(), parse_resources(program.log())};
}

std::vector<std::string> compile_options(int architecture) {
  return {"--gpu-architecture=sm_" + std::to_string(architecture), "--fmad=false", "-std=c++17",
          "--device-as-default-execution-space", "--ptxas-options=-v"};
}

int architecture_for(ComputeCapability device, std::span<const int> supported) {
  int best = 0;
  for (const int number : supported) {
    if (number / 10 == device.major && number % 10 <= device.minor) best = std::max(best, number);
  }
  return best;
}

}  // namespace reprobench

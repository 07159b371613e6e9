// A libnvrtc for tests of what surrounds the compiler: it "compiles" a source to the list of kernels that its
// RB_CHECK_KERNEL lines name, and refuses one that holds an #error line.
#include <cstdlib>
#include <cstring>
#include <string>

#define RB_EXPORT extern "C" [[gnu::visibility("default")]]

namespace {

constexpr int kCompilationError = 6;
constexpr int kInvalidOption = 5;
constexpr int kArchitectures[] = {75, 80, 86, 90, 100, 120};

struct Program {
  std::string source;
  std::string log;
  std::string cubin;
};

int g_compilations = 0;

int give(const std::string& text, char* to) {
  std::memcpy(to, text.data(), text.size());
  return 0;
}

}  // namespace

// How often a source was compiled since the library was loaded.
RB_EXPORT int fake_nvrtc_compilations() { return g_compilations; }

RB_EXPORT int nvrtcVersion(int* major, int* minor) {
  *major = 12;
  *minor = 8;
  return 0;
}

RB_EXPORT int nvrtcGetNumSupportedArchs(int* count) {
  *count = std::size(kArchitectures);
  return 0;
}

RB_EXPORT int nvrtcGetSupportedArchs(int* architectures) {
  std::memcpy(architectures, kArchitectures, sizeof kArchitectures);
  return 0;
}

RB_EXPORT int nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*,
                                 const char* const*) {
  *program = new Program{source, {}, {}};
  return 0;
}

RB_EXPORT int nvrtcDestroyProgram(void** program) {
  delete static_cast<Program*>(*program);
  return 0;
}

RB_EXPORT int nvrtcCompileProgram(void* handle, int count, const char* const* options) {
  auto& program = *static_cast<Program*>(handle);
  ++g_compilations;
  std::string architecture;
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    if (option.rfind("--gpu-architecture=", 0) == 0) architecture = option.substr(option.find('=') + 1);
  }
  if (architecture.empty()) return kInvalidOption;
  if (const std::size_t at = program.source.find("#error"); at != std::string::npos) {
    program.log = program.source.substr(at, program.source.find('\n', at) - at);
    return kCompilationError;
  }
  program.cubin = "fake-cubin " + architecture + " ";
  constexpr char kMark[] = "\nRB_CHECK_KERNEL(";
  for (std::size_t at = program.source.find(kMark); at != std::string::npos; at = program.source.find(kMark, at + 1)) {
    const std::size_t begin = at + sizeof kMark - 1;
    program.cubin += program.source.substr(begin, program.source.find(',', begin) - begin) + " ";
  }
  return 0;
}

RB_EXPORT int nvrtcGetProgramLogSize(void* program, std::size_t* bytes) {
  *bytes = static_cast<Program*>(program)->log.size();
  return 0;
}
RB_EXPORT int nvrtcGetProgramLog(void* program, char* log) { return give(static_cast<Program*>(program)->log, log); }

RB_EXPORT int nvrtcGetCUBINSize(void* program, std::size_t* bytes) {
  *bytes = static_cast<Program*>(program)->cubin.size();
  return 0;
}
RB_EXPORT int nvrtcGetCUBIN(void* program, char* cubin) { return give(static_cast<Program*>(program)->cubin, cubin); }

RB_EXPORT const char* nvrtcGetErrorString(int result) {
  return result == kCompilationError ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_INVALID_OPTION";
}

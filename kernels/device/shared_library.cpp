#include "kernels/device/shared_library.hpp"

#include <dlfcn.h>

namespace reprobench {

SharedLibrary::SharedLibrary(const std::string& name) : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) return;
  const char* reason = dlerror();
  error_ = reason == nullptr ? name + ": not opened" : reason;
}

void* SharedLibrary::find(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace reprobench

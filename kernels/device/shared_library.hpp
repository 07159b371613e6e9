// A shared library opened at run time. It stays open for the life of the process: CUDA's libraries keep threads and
// state that outlive a dlclose.
#pragma once

#include <string>

namespace reprobench {

class SharedLibrary {
 public:
  // Opens a library by path or soname. It throws nothing, see `opened`.
  explicit SharedLibrary(const std::string& name);

  bool opened() const { return handle_ != nullptr; }
  const std::string& error() const { return error_; }  // the loader's, if it was not opened

  // Returns false, with a null pointer, if there is no such symbol.
  template <class Function>
  bool bind(const char* symbol, Function& function) const {
    function = reinterpret_cast<Function>(find(symbol));
    return function != nullptr;
  }

 private:
  void* find(const char* symbol) const;

  void* handle_;
  std::string error_;
};

}  // namespace reprobench

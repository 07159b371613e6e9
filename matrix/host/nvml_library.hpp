// libnvidia-ml.so.1, opened at run time: the one place that knows the names of its functions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "matrix/host/nvml_api.hpp"

namespace reprobench {

// $REPROBENCH_NVML_LIBRARY (for tests and unusual installations), else "libnvidia-ml.so.1".
std::string nvml_library_path();

class NvmlLibrary {
 public:
  // Null if the library cannot be opened or lacks an essential function.
  static std::shared_ptr<NvmlLibrary> open(const std::string& path);

  const nvml::Functions& functions() const { return functions_; }

  // The functions that this driver's library lacks, by NVML's names; their readings are absent.
  const std::vector<std::string>& absent() const { return absent_; }

 private:
  NvmlLibrary() = default;

  nvml::Functions functions_;
  std::vector<std::string> absent_;
  std::shared_ptr<void> handle_;
};

}  // namespace reprobench

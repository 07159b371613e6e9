// One safetensors file of the user's, read to its end when a plan is made. Its content is part of the work, named by
// its SHA-256. The worker reads its tensors' elements.
#pragma once

#include <string>
#include <vector>

#include "matrix/base/safetensors.hpp"
#include "matrix/spec/spec_error.hpp"

namespace reprobench {

struct TensorFile {
  std::string file;  // absolute
  std::string sha256;
  std::vector<SafetensorsEntry> tensors;  // by name
};

// Throws SpecError: RB027 if it cannot be read, RB041 if it is no complete safetensors file.
TensorFile read_tensor_file(const std::string& path);

}  // namespace reprobench

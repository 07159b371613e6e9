// One safetensors file of the user's, read to its end when a plan is made: what it holds is part of the work, named by
// its SHA-256. Its tensors' elements are the worker's affair.
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

// Throws SpecError: RB027 nothing that can be read, RB041 no whole safetensors file.
TensorFile read_tensor_file(const std::string& path);

}  // namespace reprobench

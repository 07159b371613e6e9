// Writes and reads tensors in safetensors files, with their logical row-major elements.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "matrix/base/safetensors.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Throws RunFailure "unsupported" for an element type that the format does not have, std::system_error where the file
// cannot be written.
void write_tensors(const std::filesystem::path& path, const NamedTensors& tensors, const SafetensorsMetadata& metadata);

struct TensorFile {
  std::map<std::string, at::Tensor> tensors;
  SafetensorsMetadata metadata;
};

// Throws RunFailure "bad_request" for a file that cannot be read or is no complete safetensors file.
TensorFile read_tensors(const std::filesystem::path& path);

}  // namespace reprobench

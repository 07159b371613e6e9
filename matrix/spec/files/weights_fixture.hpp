// For tests: a folder of safetensors files and indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "ci/temporary.hpp"
#include "matrix/base/safetensors.hpp"

namespace reprobench {

class WeightsScene {
 public:
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<float> values;
  };

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string folder() const { return folder_.string(); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string text(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string write_tensors(const std::string& name, const std::vector<Tensor>& tensors) const {
    std::vector<SafetensorsTensor> entries;
    for (const Tensor& tensor : tensors) {
      entries.push_back({tensor.name, "F32", tensor.shape, std::as_bytes(std::span(tensor.values))});
    }
    write_safetensors(path(name), entries, {});
    return path(name);
  }
  // Writes a file with that header and so many bytes of data.
  std::string write_header(const std::string& name, const std::string& header, std::size_t data_bytes) const {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(std::uint64_t{header.size()} >> (8 * i) & 255);
    return write(name, bytes + header + std::string(data_bytes, '\0'));
  }

  // `said` without the folder's name.
  std::string without_folder(std::string said) const {
    const std::string folder = folder_.string() + "/";
    for (auto at = said.find(folder); at != std::string::npos; at = said.find(folder)) said.erase(at, folder.size());
    return said;
  }

 private:
  TemporaryFolder place_;
  std::filesystem::path folder_ = place_.path;
};

}  // namespace reprobench

// The place of a PyTorch that somebody else installed: in a Python environment, in a container's root, or in a LibTorch
// folder.
#pragma once

#include <filesystem>
#include <string>

namespace reprobench {

struct TorchPlace {
  std::string include;  // folder of ATen/
  std::string lib;      // folder of libtorch_cpu.so
  std::string site;     // folder of torch/ and its dist-info; empty for a LibTorch folder
  std::string python;   // "3.12": the Python that asked; empty if none did
  std::string prefix;   // everything below it belongs to the environment
};

// The place of the PyTorch of `python`, found without an import. Throws ProvisionError if Python cannot be run, or
// finds no PyTorch.
TorchPlace torch_of_python(const std::string& python);

// The place below the prefix of a Python environment or the root of a container or a host. Throws ProvisionError if
// there is none, or more than one.
TorchPlace torch_below(const std::filesystem::path& prefix);

// A folder of include/ and lib/, or of torch/ in a site-packages. Throws ProvisionError.
TorchPlace torch_in_folder(const std::filesystem::path& folder);

}  // namespace reprobench

// A stack that is an image: the PyTorch in its unpacked root, read as a program there would see it; its file; and
// whether the root is unchanged.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "matrix/spec/stack_spec.hpp"

namespace reprobench {

// The image that a root was unpacked from.
struct ImageIdentity {
  std::string name;                            // the name that was given
  std::string digest;                          // of its manifest, or of the root's content
  std::vector<std::string> library_path = {};  // its LD_LIBRARY_PATH, which its own programs would have
};

struct ImageStack {
  StackSpec spec;                  // of `source: image`; its text is the stack file
  std::vector<std::string> notes;  // about its PyTorch; they do not keep it from running
};

// Headers of one CUDA that this host has.
struct HostCudaHeaders {
  std::vector<std::string> folders;  // empty: none
  std::string origin;                // for people: "the wheels nvidia-cuda-nvcc-cu12 12.8.93"
};
using CudaHeaderSource = std::function<HostCudaHeaders(const std::string& cuda)>;

// The only PyTorch of a root. `stack` is its name in a matrix. PyTorch's wheels bring the libraries of CUDA and not all
// of its headers; those that the root lacks are asked for by `cuda_headers`. Throws ProvisionError if the root has no
// PyTorch, several, or one that no worker can be built for. Nothing of the root is run.
ImageStack find_image_stack(const std::string& stack, const ImageIdentity& image, const std::filesystem::path& root,
                            const CudaHeaderSource& cuda_headers = {});

// One sentence on what has changed in the root of an image's stack since; empty if nothing has.
std::string find_image_problem(const StackSpec& spec);

// Why a worker that was built here cannot start in the root: its C or C++ library lacks something that the worker
// needs. Empty if it can.
std::string find_runtime_lack(const StackSpec& spec, const std::filesystem::path& worker);

}  // namespace reprobench

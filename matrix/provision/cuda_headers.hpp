// The headers of CUDA that a worker is compiled with: in a Python environment, or in a toolkit of this host.
#pragma once

#include <string>
#include <vector>

namespace reprobench {

struct CudaHeaders {
  std::vector<std::string> folders;  // the environment's first; empty if they are not all there
  std::string problem;               // why not
  std::string remedy;
};

// `site`: the folder of an environment's nvidia/, may be empty. `cuda`: the version they must be of, "13.0". A toolkit
// completes what the environment lacks.
CudaHeaders find_cuda_headers(const std::string& site, const std::string& cuda,
                              const std::vector<std::string>& toolkits);

// The folders in which CUDA toolkits may lie: $CUDA_HOME, that of nvcc on PATH, /usr/local/cuda.
std::vector<std::string> cuda_toolkit_folders();

}  // namespace reprobench

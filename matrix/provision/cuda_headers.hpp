// Finds the CUDA headers with which a worker is compiled: in a Python environment, or in a toolkit of this host.
#pragma once

#include <string>
#include <vector>

namespace reprobench {

struct CudaHeaders {
  std::vector<std::string> folders;  // the environment's first; empty if some headers are missing
  std::vector<std::string> missing;  // which, where nothing else is wrong: "nv/target"
  std::string problem;               // why not
  std::string remedy;
};

// `site` is the folder of an environment's nvidia/; empty: there is none. `cuda` is the version that the headers must
// have, "13.0". A toolkit completes what the environment lacks. `given` are headers that come from elsewhere, out of
// reach.
CudaHeaders find_cuda_headers(const std::string& site, const std::string& cuda,
                              const std::vector<std::string>& toolkits, const std::vector<std::string>& given = {});

// Those of the headers that a worker needs which `folders` have.
std::vector<std::string> cuda_headers_in(const std::vector<std::string>& folders);

// The folders in which CUDA toolkits may be: $CUDA_HOME, that of nvcc on PATH, /usr/local/cuda.
std::vector<std::string> cuda_toolkit_folders();

}  // namespace reprobench

// The parts of a PyTorch that somebody else installed, read from its files: versions, C++ ABI, headers, and every
// library that it would load. It also has the problems that they have. Nothing is loaded or run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "matrix/provision/environment_problem.hpp"
#include "matrix/provision/library_search.hpp"
#include "matrix/provision/torch_place.hpp"

namespace reprobench {

struct EnvironmentSurvey {
  std::vector<std::string> include_dirs;          // CUDA's too, if its part is usable
  std::vector<std::string> library_dirs;          // torch's, then those of the NVIDIA libraries it would load
  std::map<std::string, std::string> components;  // torch, cuda, cudnn, nccl: as declared by metadata, else by headers.
                                                  // cuda and what rests on it only where torch can use them
  std::map<std::string, std::string> libraries;   // name to library_identity: those that can change bits or speed
  std::vector<FoundLibrary> loaded;               // the same, with their paths
  int cxx11_abi = 1;
  int cxx_standard = 17;
  // Headers of CUDA without which the GPU part is no component, where nothing else is wrong with it; and its CUDA.
  std::vector<std::string> missing_cuda_headers;
  std::string cuda;
  std::vector<EnvironmentProblem> problems;
};

// With `with_gpu`, a problem that keeps its GPU part from being used is fatal, and not only reported. `given_headers`
// are headers of CUDA that the worker is compiled with from elsewhere.
EnvironmentSurvey survey_environment(const TorchPlace& place, const LoaderFolders& folders, bool with_gpu,
                                     const std::vector<std::string>& given_headers = {});

// SHA-256 over versions and libraries: the same environment in another place has the same identity.
std::string identity_of(const std::map<std::string, std::string>& components,
                        const std::map<std::string, std::string>& libraries);

}  // namespace reprobench

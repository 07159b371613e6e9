// Headers of one CUDA for an image that lacks some: of a toolkit of this host, else of the wheels that a stack of the
// repository has locked for that CUDA.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "matrix/provision/image_stack.hpp"
#include "matrix/provision/progress.hpp"

namespace reprobench {

// The wheels are fetched by lock into `home`/downloads and their headers unpacked once, into
// `home`/cuda-headers/VERSION-DIGEST. `shepherd` as for StackStore. Nothing if no stack knows that CUDA, or its wheels
// cannot be had; `progress` is then told why.
HostCudaHeaders host_cuda_headers(const std::string& cuda, const std::map<std::string, StackSpec>& stacks,
                                  const std::filesystem::path& home, const std::filesystem::path& shepherd,
                                  const PhaseSink& progress);

}  // namespace reprobench

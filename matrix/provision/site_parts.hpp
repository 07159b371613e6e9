// The components of a stack of wheels, and which files below its site/ each has.
//
// A component is a package: what NVIDIA publishes apart can be exchanged apart. There is one exception, `openmp`: the
// libgomp that torch's wheel carries. All else in that wheel is torch's own (oneDNN, MKL and others are linked into
// libtorch_cpu), and goes where torch goes.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace reprobench {

struct SitePart {
  std::string package;             // "nvidia-cudnn-cu12"; of openmp "torch"
  std::string version;             // of that package
  std::vector<std::string> files;  // below site/, by name

  std::vector<std::string> libraries() const;
};

using SiteParts = std::map<std::string, SitePart>;  // by component

// "cudnn" of "nvidia-cudnn-cu12", "cudart" of "nvidia-cuda-runtime", "torch" of "torch".
std::string component_of_package(const std::string& package);

// Throws ProvisionError where a file is of no package or of two: it cannot be said then what an exchange takes along.
SiteParts site_parts(const std::filesystem::path& site);

}  // namespace reprobench

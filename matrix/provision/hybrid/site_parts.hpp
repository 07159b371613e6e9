// The components of a stack of wheels, and the files of each below its site/.
//
// A component is a package, because packages that NVIDIA publishes apart can be exchanged apart. There is one
// exception, `openmp`: the libgomp in torch's wheel. Everything else in that wheel is torch's own (oneDNN, MKL and
// others are linked into libtorch_cpu), and goes where torch goes.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace reprobench {

struct SitePart {
  std::string package;             // "nvidia-cudnn-cu12"; for openmp "torch"
  std::string version;             // of that package
  std::vector<std::string> files;  // below site/, by name

  std::vector<std::string> libraries() const;
};

using SiteParts = std::map<std::string, SitePart>;  // by component

// "cudnn" for "nvidia-cudnn-cu12", "cudart" for "nvidia-cuda-runtime", "torch" for "torch".
std::string component_of_package(const std::string& package);

// Throws ProvisionError if a file belongs to no package or to two, because then it is unclear what an exchange takes
// along.
SiteParts site_parts(const std::filesystem::path& site);

}  // namespace reprobench

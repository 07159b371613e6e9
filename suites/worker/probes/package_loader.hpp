// An AOTInductor package of the user's in the hands of the stack's own loader: its metadata, its weights by the names
// they had in the module that was exported, its forward pass. A package is code: loading it runs what is in it.
//
// A LibTorch without the loader, or with one that does not tell the shapes of a package's weights, has no packages.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace at {
class Tensor;
}

namespace reprobench {

// Why this stack can run no package; empty: it can.
std::string why_no_packages();

class LoadedPackage {
 public:
  // `bytes` are all of the package, which was read and hashed before: they lie in `folder` while the loader reads them.
  // `name`: what messages call it. Throws RunFailure "unsupported" where why_no_packages(), "input_refused" with the
  // loader's words for what it does not take.
  LoadedPackage(const std::filesystem::path& folder, std::string name, const std::string& bytes);
  ~LoadedPackage();
  LoadedPackage(const LoadedPackage&) = delete;
  LoadedPackage& operator=(const LoadedPackage&) = delete;

  // What its maker wrote into it, and what AOTInductor added: "AOTI_DEVICE_KEY" is "cpu" or "cuda".
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  // Puts these in the place of the weights that were in the package: contiguous, on its device, by name. Every one of
  // them must be in it with this shape and type, and every number in it must be one of them; its tables of integers and
  // truth values are its own. Throws RunFailure "input_refused" with all that do not fit.
  void put(const std::map<std::string, at::Tensor>& weights);

  // Throws what the package throws.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs);

 private:
  struct Loader;
  std::unique_ptr<Loader> loader_;
  std::string name_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace reprobench

// An AOTInductor package of the user's, loaded by the stack's own loader. A package is code: loading it runs what is in
// it. A LibTorch without the loader, or whose loader does not tell the shapes of a package's weights, can run no
// package.
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

class ForwardPackage {
 public:
  virtual ~ForwardPackage() = default;

  // The metadata that its maker wrote into it and that AOTInductor added: "AOTI_DEVICE_KEY" is "cpu" or "cuda".
  virtual const std::map<std::string, std::string>& metadata() const = 0;

  // The weights and tables in it, by the names they had in the exported module.
  virtual std::map<std::string, at::Tensor> constants() const = 0;

  // Replaces the constants of these names, which have the same shapes and types. `weights` are contiguous and on the
  // package's device.
  virtual void put(const std::map<std::string, at::Tensor>& weights) = 0;

  // Throws what the package throws.
  virtual std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) = 0;
};

// Why this stack can run no package; empty if it can.
std::string why_no_packages();

// `bytes` are the whole package, which was read and hashed before. They are written into `folder` while the loader
// reads them. `name` is the package's name in messages. Throws RunFailure "unsupported" with why_no_packages(), and
// "input_refused" with the loader's words for a package that it does not take.
std::unique_ptr<ForwardPackage> load_package(const std::filesystem::path& folder, const std::string& name,
                                             const std::string& bytes);

}  // namespace reprobench

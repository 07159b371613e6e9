// An AOTInductor package of the user's in the hands of the stack's own loader. A package is code: loading it runs what
// is in it. A LibTorch without the loader, or with one that does not tell the shapes of a package's weights, has none.
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

  // What its maker wrote into it, and what AOTInductor added: "AOTI_DEVICE_KEY" is "cpu" or "cuda".
  virtual const std::map<std::string, std::string>& metadata() const = 0;

  // Weights and tables that are in it, by the names they had in the module that was exported.
  virtual std::map<std::string, at::Tensor> constants() const = 0;

  // Puts these in the place of the constants of their names, which have their shapes and types: contiguous, on its
  // device.
  virtual void put(const std::map<std::string, at::Tensor>& weights) = 0;

  // Throws what the package throws.
  virtual std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) = 0;
};

// Why this stack can run no package; empty: it can.
std::string why_no_packages();

// `bytes` are all of the package, which was read and hashed before: they lie in `folder` while the loader reads them.
// `name`: what messages call it. Throws RunFailure "unsupported" where why_no_packages(), "input_refused" with the
// loader's words for what it does not take.
std::unique_ptr<ForwardPackage> load_package(const std::filesystem::path& folder, const std::string& name,
                                             const std::string& bytes);

}  // namespace reprobench

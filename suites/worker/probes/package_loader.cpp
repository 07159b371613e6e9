#include "suites/worker/probes/package_loader.hpp"

#include <cstdlib>
#include <exception>
#include <fstream>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#ifdef REPROBENCH_HAS_PACKAGE_LOADER
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#endif

#include "suites/worker/data/own_file.hpp"
#include "suites/worker/probes/unsupported_operation.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {

#ifdef REPROBENCH_HAS_PACKAGE_LOADER

namespace {

// A file that is there for as long as somebody reads it.
class FileInUse {
 public:
  FileInUse(std::filesystem::path path, const std::string& bytes) : path_(std::move(path)) {
    std::ofstream file(path_, std::ios::binary);
    file << bytes << std::flush;
    if (!file) throw RunFailure("exception", "cannot write " + path_.string());
  }
  ~FileInUse() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  FileInUse(const FileInUse&) = delete;
  FileInUse& operator=(const FileInUse&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

class LoadedPackage final : public ForwardPackage {
 public:
  explicit LoadedPackage(const std::string& path) : loader_(path) {
    for (const auto& [key, value] : loader_.get_metadata()) metadata_[key] = value;
  }

  const std::map<std::string, std::string>& metadata() const override { return metadata_; }

  std::map<std::string, at::Tensor> constants() const override {
    const auto held = loader_.get_runner()->extract_constants_map(/*use_inactive=*/false);
    return {held.begin(), held.end()};
  }

  // The loader's own names are those of variables in C++, several of which may be of one weight.
  void put(const std::map<std::string, at::Tensor>& weights) override {
    std::map<std::string, at::Tensor> given = weights;  // the loader wants to change what it only reads
    torch::inductor::TensorConstantMap by_variable;
    for (const auto& [variable, name] : loader_.get_runner()->getConstantNamesToOriginalFQNs()) {
      if (const auto weight = given.find(name); weight != given.end()) by_variable[variable] = &weight->second;
    }
    loader_.get_runner()->update_constant_buffer(by_variable, /*use_inactive=*/false, /*validate_full_updates=*/false);
  }

  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) override { return loader_.run(inputs); }

 private:
  mutable torch::inductor::AOTIModelPackageLoader loader_;  // asks for a runner that may be changed even to look at it
  std::map<std::string, std::string> metadata_;
};

}  // namespace

std::string why_no_packages() { return ""; }

std::unique_ptr<ForwardPackage> load_package(const std::filesystem::path& folder, const std::string& name,
                                             const std::string& bytes) {
  // A package reads an input of another shape than it was compiled for as if it had that shape, beyond its end: unless
  // this is set when it runs for the first time.
  setenv("AOTI_RUNTIME_CHECK_INPUTS", "1", 1);
  const FileInUse file(folder / "package.pt2", bytes);
  try {
    return std::make_unique<LoadedPackage>(file.path());
  } catch (const std::exception& error) {
    throw RunFailure(kInputRefused, name + " is not loaded by this stack: " + first_line(error));
  }
}

#else

std::string why_no_packages() {
  return "this LibTorch has no loader of AOTInductor packages that tells which weights one has";
}

std::unique_ptr<ForwardPackage> load_package(const std::filesystem::path&, const std::string&, const std::string&) {
  throw RunFailure("unsupported", why_no_packages());
}

#endif

}  // namespace reprobench

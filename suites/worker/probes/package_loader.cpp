#include "suites/worker/probes/package_loader.hpp"

#include <cstdlib>
#include <exception>
#include <fstream>
#include <unordered_map>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#ifdef REPROBENCH_HAS_PACKAGE_LOADER
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#endif

#include "suites/worker/own_file.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {

#ifdef REPROBENCH_HAS_PACKAGE_LOADER

namespace {

// LibTorch's errors carry a trace of calls; their first line says what is wrong.
std::string first_line_of(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  const std::string text = of_torch == nullptr ? error.what() : of_torch->what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

std::string shape_and_type(const at::Tensor& tensor) {
  std::string text = "[";
  for (const std::int64_t extent : tensor.sizes()) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return text + "] of " + std::string(c10::toString(tensor.scalar_type()));
}

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

}  // namespace

std::string why_no_packages() { return ""; }

struct LoadedPackage::Loader {
  explicit Loader(const std::string& path) : loader(path) {}

  torch::inductor::AOTIModelPackageLoader loader;
};

LoadedPackage::LoadedPackage(const std::filesystem::path& folder, std::string name, const std::string& bytes)
    : name_(std::move(name)) {
  // A package reads an input of another shape than it was compiled for as if it had that shape, beyond its end: unless
  // this is set when it runs for the first time.
  setenv("AOTI_RUNTIME_CHECK_INPUTS", "1", 1);
  const FileInUse file(folder / "package.pt2", bytes);
  try {
    loader_ = std::make_unique<Loader>(file.path());
    for (const auto& [key, value] : loader_->loader.get_metadata()) metadata_[key] = value;
  } catch (const std::exception& error) {
    throw RunFailure(kInputRefused, name_ + " is not loaded by this stack: " + first_line_of(error));
  }
}

void LoadedPackage::put(const std::map<std::string, at::Tensor>& weights) {
  auto* runner = loader_->loader.get_runner();
  std::string problems;
  const auto add = [&](const std::string& problem) { problems += (problems.empty() ? "" : "; ") + problem; };
  const std::unordered_map<std::string, at::Tensor> held = runner->extract_constants_map(false);
  for (const auto& [weight, tensor] : weights) {
    const auto found = held.find(weight);
    if (found == held.end()) {
      add("it has no `" + weight + "`");
    } else if (found->second.sizes() != tensor.sizes() || found->second.scalar_type() != tensor.scalar_type()) {
      add("its `" + weight + "` is " + shape_and_type(found->second) + ", the model's " + shape_and_type(tensor));
    }
  }
  const std::map<std::string, at::Tensor> in_order(held.begin(), held.end());
  for (const auto& [weight, tensor] : in_order) {
    const bool is_number = tensor.is_floating_point() || tensor.is_complex();
    if (is_number && weights.count(weight) == 0) add("the model has no `" + weight + "`, which is in it");
  }
  if (!problems.empty()) throw RunFailure(kInputRefused, name_ + " is not of this model: " + problems);
  // The loader's own names, which are those of a C++ variable, by the module's.
  torch::inductor::TensorConstantMap by_loaders_name;
  std::map<std::string, at::Tensor> given = weights;
  for (const auto& [loaders, modules] : runner->getConstantNamesToOriginalFQNs()) {
    if (const auto weight = given.find(modules); weight != given.end()) by_loaders_name[loaders] = &weight->second;
  }
  runner->update_constant_buffer(by_loaders_name, /*use_inactive=*/false, /*validate_full_updates=*/false);
}

std::vector<at::Tensor> LoadedPackage::run(const std::vector<at::Tensor>& inputs) {
  return loader_->loader.run(inputs);
}

#else

std::string why_no_packages() {
  return "this LibTorch has no loader of AOTInductor packages that tells which weights one has";
}

struct LoadedPackage::Loader {};

LoadedPackage::LoadedPackage(const std::filesystem::path&, std::string, const std::string&) {
  throw RunFailure("unsupported", why_no_packages());
}

void LoadedPackage::put(const std::map<std::string, at::Tensor>&) {}

std::vector<at::Tensor> LoadedPackage::run(const std::vector<at::Tensor>&) { return {}; }

#endif

LoadedPackage::~LoadedPackage() = default;

}  // namespace reprobench

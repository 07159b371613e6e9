#include "suites/worker/probes/packaged_work.hpp"

#include <algorithm>
#include <charconv>

#include <ATen/core/Tensor.h>

#include "suites/worker/data/own_file.hpp"
#include "suites/worker/probes/package_loader.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

const std::string& told(const ForwardPackage& package, const std::string& key) {
  const auto found = package.metadata().find("reprobench." + key);
  if (found != package.metadata().end()) return found->second;
  refuse_package("the package does not say what it is of: its metadata has no `reprobench." + key +
                 "` (suites/own-files.md shows how it is made)");
}

std::vector<std::string> at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    parts.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return parts;
}

std::int64_t batch_size_of(const std::string& text) {
  std::int64_t samples = 0;
  const char* const end_of_text = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), end_of_text, samples);
  if (error == std::errc() && end == end_of_text && samples >= 1) return samples;
  refuse_package("the package's `reprobench.batch_size` is `" + text + "`, which is no number of samples");
}

std::string shape_and_type(const at::Tensor& tensor) {
  std::string text = "[";
  for (const std::int64_t extent : tensor.sizes()) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return text + "] of " + std::string(c10::toString(tensor.scalar_type()));
}

}  // namespace

void refuse_package(const std::string& why) { throw RunFailure(kInputRefused, why); }

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "`" : ", `") + name + "`";
  return text;
}

PackagedWork packaged_work_of(const ForwardPackage& package) {
  const std::string& model_name = told(package, "model");
  const auto all = models();
  const auto model = std::ranges::find(all, model_name, [](const Model* one) { return std::string(one->name()); });
  if (model == all.end()) refuse_package("the package is of a model `" + model_name + "`, which is none of ours");
  const std::string& preset_name = told(package, "preset");
  const auto presets = (*model)->presets();
  const auto preset = std::ranges::find(presets, preset_name, &ModelPreset::name);
  if (preset == presets.end()) {
    refuse_package("the package is of `" + model_name + "/" + preset_name + "`, and the model has no such preset");
  }
  // Running statistics are overwritten by every pass, and a package has its own.
  if (!(*model)->buffers(*preset).empty()) {
    throw RunFailure("unsupported", "the forward pass of `" + model_name +
                                        "` overwrites running statistics, and packages are of those that do not");
  }
  return {**model, *preset, batch_size_of(told(package, "batch_size")), at_commas(told(package, "inputs"))};
}

void check_constants(const ForwardPackage& package, const std::map<std::string, at::Tensor>& weights,
                     const std::string& file) {
  std::string problems;
  const auto add = [&](const std::string& problem) { problems += (problems.empty() ? "" : "; ") + problem; };
  const std::map<std::string, at::Tensor> held = package.constants();
  for (const auto& [weight, tensor] : weights) {
    const auto found = held.find(weight);
    if (found == held.end()) {
      add("it has no `" + weight + "`");
    } else if (found->second.sizes() != tensor.sizes() || found->second.scalar_type() != tensor.scalar_type()) {
      add("its `" + weight + "` is " + shape_and_type(found->second) + ", the model's " + shape_and_type(tensor));
    }
  }
  for (const auto& [weight, tensor] : held) {
    const bool is_number = tensor.is_floating_point() || tensor.is_complex();
    if (is_number && !weights.contains(weight)) add("the model has no `" + weight + "`, which is in it");
  }
  if (!problems.empty()) refuse_package(file + " is not of this model: " + problems);
}

}  // namespace reprobench

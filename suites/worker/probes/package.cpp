// An AOTInductor package of the user's against eager: the same weights, drawn by Philox as every training's are, and
// the same first batch go through the model's own operators and through the package. Either result is held against fp64
// and then timed; whether the bits are equal is on record.
//
// Of which model a package is stands in its metadata, because nothing in the compiled code says it:
//   reprobench.model "mlp", reprobench.preset "base", reprobench.batch_size "32", reprobench.inputs "input": the fields
//   of a batch that are its arguments, in order, with commas between them.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include "matrix/contract/number.hpp"
#include "models/data_set.hpp"
#include "suites/worker/batch_source.hpp"
#include "suites/worker/knobs.hpp"
#include "suites/worker/own_file.hpp"
#include "suites/worker/probes/error_bound.hpp"
#include "suites/worker/probes/package_loader.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/tensor_record.hpp"
#include "suites/worker/train_state.hpp"

namespace reprobench {
namespace {

[[noreturn]] void refuse_package(const std::string& why) { throw RunFailure(kInputRefused, why); }

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "`" : ", `") + name + "`";
  return text;
}

// What the package's maker says that it is of.
struct PackagedWork {
  const Model& model;
  const ModelPreset& preset;
  std::int64_t batch_size;
  std::vector<std::string> inputs;
};

const std::string& told(const LoadedPackage& package, const std::string& key) {
  const auto found = package.metadata().find("reprobench." + key);
  if (found != package.metadata().end()) return found->second;
  refuse_package("the package does not say what it is of: its metadata has no `reprobench." + key +
                 "` (suites/README.md shows how it is made)");
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

PackagedWork work_of(const LoadedPackage& package) {
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
  const std::string& size = told(package, "batch_size");
  std::int64_t batch_size = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), batch_size);
  if (error != std::errc() || end != size.data() + size.size() || batch_size < 1) {
    refuse_package("the package's `reprobench.batch_size` is `" + size + "`, which is no number of samples");
  }
  return {**model, *preset, batch_size, at_commas(told(package, "inputs"))};
}

// A model's forward pass on its initial weights and its first batch; nothing is traced, nothing is trained.
class EagerForward final : public StepContext {
 public:
  EagerForward(const ProbeRun& run, const PackagedWork& work, Precision precision)
      : work_(work),
        knobs_(run.knobs()),
        state_(work.model, work.preset, /*steps=*/1, run.seed(), precision, run.device()),
        batches_(work.model, work.preset, data_sets(), run.data_folder(), run.seed(), work.batch_size, precision,
                 run.device()) {
    batches_.load(1);
  }

  const ModelPreset& preset() const override { return work_.preset; }
  std::string_view knob(std::string_view name) const override { return knobs_.at(std::string(name)); }
  const at::Tensor& parameter(std::size_t index) const override { return state_.parameter(index); }
  const at::Tensor& buffer(std::size_t index) const override { return state_.buffer(index); }
  at::Tensor block(const std::vector<at::Tensor>& inputs, const BlockFunction& compute) override {
    return compute(inputs);
  }
  void keep(std::shared_ptr<const void> network) override { network_ = std::move(network); }
  void tap(const at::Tensor&, std::string_view) override {}
  void mask(const at::Tensor&, std::string_view) override {}
  void choice(const at::Tensor&, std::string_view) override {}

  at::Tensor run() {
    const c10::NoGradGuard no_grad;
    const Outputs outputs = work_.model.forward(batches_.micro_batch(0), *this);
    if (outputs.size() == 1) return outputs.front();
    throw RunFailure("unsupported", "the forward pass of `" + std::string(work_.model.name()) + "` has " +
                                        std::to_string(outputs.size()) +
                                        " results, and packages are of those with one");
  }

  std::map<std::string, at::Tensor> weights() const {
    std::map<std::string, at::Tensor> weights;
    for (std::size_t i = 0; i < state_.size(); ++i) weights[state_.name(i)] = state_.parameter(i).detach().contiguous();
    return weights;
  }

  std::vector<at::Tensor> inputs() const {
    std::vector<at::Tensor> inputs;
    std::vector<std::string> known;
    for (const FieldSpec& field : batches_.fields()) known.push_back(field.name);
    for (const std::string& name : work_.inputs) {
      const auto field = std::ranges::find(known, name);
      if (field == known.end()) {
        refuse_package("the package takes `" + name + "` of a batch, whose fields are " + list_of(known));
      }
      inputs.push_back(batches_.tensor(static_cast<std::size_t>(field - known.begin())));
    }
    return inputs;
  }

 private:
  const PackagedWork& work_;
  const KnobValues& knobs_;
  TrainState state_;
  BatchSource batches_;
  std::shared_ptr<const void> network_;
};

void check_is_possible(const ProbeRun& run) {
  const std::string precision = run.knobs().at("precision");
  if (precision != "fp32") {
    throw RunFailure("unsupported", "a package is held against eager in fp32, and `precision` is " + precision);
  }
  if (const std::string why = why_no_packages(); !why.empty()) throw RunFailure("unsupported", why);
  if (run.request().workload.package_file.empty()) {
    throw RunFailure("bad_request", "the probe `package` was given no package");
  }
}

void check_device(const LoadedPackage& package, const ProbeRun& run) {
  const auto found = package.metadata().find("AOTI_DEVICE_KEY");
  const std::string wanted = run.on_cpu() ? "cpu" : "cuda";
  if (found == package.metadata().end() || found->second == wanted) return;
  refuse_package("the package is compiled for " + found->second + ", and the cell runs on " + wanted);
}

// Running statistics are overwritten by every pass, and a package has its own.
void check_model(const PackagedWork& work) {
  if (work.model.buffers(work.preset).empty()) return;
  throw RunFailure("unsupported", "the forward pass of `" + std::string(work.model.name()) +
                                      "` overwrites running statistics, and packages are of those that do not");
}

// The depth of every product with a weight, which is a matrix or a filter of so many outputs.
double eager_bound_rel(const PackagedWork& work) {
  double bound = 0;
  for (const ParameterSpec& parameter : work.model.parameters(work.preset)) {
    if (parameter.shape.size() < 2) continue;
    std::int64_t depth = 1;
    for (std::size_t i = 1; i < parameter.shape.size(); ++i) depth *= parameter.shape[i];
    bound += product_error_bound_rel("fp32", depth);
  }
  return bound;
}

std::string same_kind(const at::Tensor& result, const at::Tensor& expected) {
  if (result.sizes() != expected.sizes()) return "the result has another shape than eager's";
  if (result.scalar_type() != expected.scalar_type()) return "the result has another type than eager's";
  return "";
}

std::int64_t differing_elements(const at::Tensor& result, const at::Tensor& expected) {
  const at::Tensor differs =
      result.contiguous().view(at::kInt).ne(expected.contiguous().view(at::kInt));  // bits: NaN, and zeros with signs
  return differs.sum().item<std::int64_t>();
}

class PackageProbe {
 public:
  PackageProbe(ProbeRun& run, LoadedPackage& package, const PackagedWork& work)
      : run_(run), package_(package), work_(work), eager_(run, work, Precision::fp32) {
    labels_ = {{"model", std::string(work.model.name()) + "/" + std::string(work.preset.name)},
               {"batch", std::to_string(work.batch_size)}};
  }

  void run() {
    package_.put(eager_.weights());
    inputs_ = eager_.inputs();
    expected_ = eager_.run();
    exact_ = EagerForward(run_, work_, Precision::fp64).run();
    run_.measure({"eager_forward", labels_, 1, [&] { return eager_.run(); },
                  [&](const at::Tensor& result) { return eager_is_right(result); }});
    check_takes_batch();
    run_.measure({"package_forward", labels_, 1, [&] { return package_.run(inputs_).front(); },
                  [&](const at::Tensor& result) { return package_is_right(result); }});
    if (differing_) run_.observe("package_differs", labels_, static_cast<double>(*differing_), {true});
  }

 private:
  Correctness eager_is_right(const at::Tensor& result) {
    Correctness found = close_to(result, exact_, eager_bound_rel(work_));
    found.digest = to_hex(digest_of(result));
    return found;
  }

  // Once, before anything is timed: a package throws for a batch that it was not compiled for.
  void check_takes_batch() {
    std::size_t results = 0;
    try {
      results = package_.run(inputs_).size();
    } catch (const std::exception&) {
      refuse_package("the package does not take the batch of " + std::to_string(work_.batch_size) +
                     " that it says it " + "is of; its words are in stderr.log");
    }
    if (results != 1) refuse_package("the package makes " + std::to_string(results) + " results, the model one");
  }

  Correctness package_is_right(const at::Tensor& result) {
    if (const std::string why = same_kind(result, expected_); !why.empty()) return {false, why};
    const double of_eager = *close_to(expected_, exact_, 0).error_rel;
    Correctness found = close_to(result, exact_, forward_error_bound_rel(of_eager, result.numel()));
    found.digest = to_hex(digest_of(result));
    if (!found.right) return found;
    differing_ = differing_elements(result, expected_);
    found.finding = *differing_ == 0 ? "has eager's bits"
                                     : std::to_string(*differing_) + " of " + std::to_string(result.numel()) +
                                           " elements have other bits than eager's, which is off by " +
                                           json_number(of_eager).dump() + " from fp64";
    return found;
  }

  ProbeRun& run_;
  LoadedPackage& package_;
  const PackagedWork& work_;
  Labels labels_;
  EagerForward eager_;
  std::vector<at::Tensor> inputs_;
  at::Tensor expected_;
  at::Tensor exact_;
  std::optional<std::int64_t> differing_;
};

}  // namespace

void probe_package(ProbeRun& run) {
  check_is_possible(run);
  const WorkloadRequest& workload = run.request().workload;
  LoadedPackage package(run.folder(), workload.package_file,
                        read_own_file(workload.package_file, workload.package_sha256));
  check_device(package, run);
  const PackagedWork work = work_of(package);
  check_model(work);
  std::optional<PackageProbe> probe;
  try {
    probe.emplace(run, package, work);
  } catch (const RunFailure& failure) {
    if (failure.cause() != "bad_request") throw;
    refuse_package(std::string("the package is of a batch that cannot be had: ") + failure.what());
  }
  probe->run();
}

}  // namespace reprobench

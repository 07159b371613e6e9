// An AOTInductor package of the user's, compared with eager. The same weights, drawn by Philox as every training's are,
// and the same batches go through the model's own operators and through the package. Either result is compared with
// fp64 and then timed; whether the bits are equal is on record.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include "models/data_set.hpp"
#include "suites/worker/data/batch_source.hpp"
#include "suites/worker/data/own_file.hpp"
#include "suites/worker/knobs/knobs.hpp"
#include "suites/worker/probes/forward_check.hpp"
#include "suites/worker/probes/package_loader.hpp"
#include "suites/worker/probes/packaged_work.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {
namespace {

// The batch whose pass is timed, and the one that goes through the package before it: of the steps of a training.
constexpr std::int64_t kTimedBatch = 1;
constexpr std::int64_t kOtherBatch = 2;

// A model's forward pass on its initial weights; nothing is traced, nothing is trained.
class EagerForward final : public StepContext {
 public:
  EagerForward(const ProbeRun& run, const PackagedWork& work, Precision precision)
      : work_(work),
        settings_(run.settings()),
        state_(work.model, work.preset, /*steps=*/1, run.seed(), precision, run.device()),
        batches_(work.model, work.preset, data_sets(), run.data_folder(), run.seed(), work.batch_size, precision,
                 run.device()) {}

  const ModelPreset& preset() const override { return work_.preset; }
  const Settings& settings() const override { return settings_; }
  const at::Tensor& parameter(std::size_t index) const override { return state_.parameter(index); }
  const at::Tensor& buffer(std::size_t index) const override { return state_.buffer(index); }
  at::Tensor block(const std::vector<at::Tensor>& inputs, const BlockFunction& compute) override {
    return compute(inputs);
  }
  void keep(std::shared_ptr<const void> network) override { network_ = std::move(network); }
  void tap(const at::Tensor&, std::string_view) override {}
  void mask(const at::Tensor&, std::string_view) override {}
  void choice(const at::Tensor&, std::string_view) override {}

  void load(std::int64_t batch) { batches_.load(batch); }

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

  // Copies, which the next batch leaves as they are.
  std::vector<at::Tensor> inputs() const {
    std::vector<std::string> known;
    for (const FieldSpec& field : batches_.fields()) known.push_back(field.name);
    std::vector<at::Tensor> inputs;
    for (const std::string& name : work_.inputs) {
      const auto field = std::ranges::find(known, name);
      if (field == known.end()) {
        refuse_package("the package takes `" + name + "` of a batch, whose fields are " + listed(known));
      }
      inputs.push_back(batches_.tensor(static_cast<std::size_t>(field - known.begin())).clone());
    }
    return inputs;
  }

 private:
  const PackagedWork& work_;
  const Settings& settings_;
  TrainState state_;
  BatchSource batches_;
  std::shared_ptr<const void> network_;
};

void check_is_possible(const ProbeRun& run) {
  if (run.settings().precision != Precision::fp32) {
    throw RunFailure("unsupported", "a package is held against eager in fp32, and `precision` is " +
                                        text_of<&Settings::precision>(run.settings().precision));
  }
  if (const std::string why = why_no_packages(); !why.empty()) throw RunFailure("unsupported", why);
  if (run.request().workload.package_file.empty()) {
    throw RunFailure("bad_request", "the probe `package` was given no package");
  }
}

void check_device(const ForwardPackage& package, const ProbeRun& run) {
  const auto found = package.metadata().find("AOTI_DEVICE_KEY");
  if (found == package.metadata().end()) refuse_package("the package does not say for which device it is compiled");
  const std::string wanted = run.on_cpu() ? "cpu" : "cuda";
  if (found->second == wanted) return;
  refuse_package("the package is compiled for " + found->second + ", and the cell runs on " + wanted);
}

class PackageProbe {
 public:
  PackageProbe(ProbeRun& run, ForwardPackage& package, const PackagedWork& work)
      : run_(run),
        package_(package),
        work_(work),
        eager_(run, work, Precision::fp32),
        bound_rel_(eager_error_bound_rel(work.model, work.preset)) {
    labels_ = {{"model", std::string(work.model.name()) + "/" + std::string(work.preset.name)},
               {"batch", std::to_string(work.batch_size)}};
  }

  void run() {
    const std::map<std::string, at::Tensor> weights = eager_.weights();
    check_constants(package_, weights, run_.request().workload.package_file);
    package_.put(weights);
    std::optional<EagerForward> in_fp64(std::in_place, run_, work_, Precision::fp64);
    const Passed other = batch_of(kOtherBatch, *in_fp64);
    timed_ = batch_of(kTimedBatch, *in_fp64);  // the last one is the one that eager is timed with
    in_fp64.reset();
    // Before the timed one: a package that holds what it was given first, or looks at nothing, is wrong for one of
    // them.
    const Correctness of_other = right_for(other, first_result(other));
    run_.measure_then_watch([&] {
      measure(
          "eager_forward", [&] { return eager_.run(); },
          [&](const at::Tensor& result) { return eager_is_right(result, timed_.fp64, bound_rel_); });
      measure(
          "package_forward", [&] { return only(package_.run(timed_.inputs)); },
          [&](const at::Tensor& result) { return is_right(result, of_other); });
    });
    if (differing_) run_.observe("package_differs", labels_, static_cast<double>(*differing_), {true});
  }

 private:
  // What a batch is, and what eager makes of it.
  struct Passed {
    std::vector<at::Tensor> inputs;
    at::Tensor fp32;
    at::Tensor fp64;
  };

  void measure(const char* name, std::function<at::Tensor()> work,
               std::function<Correctness(const at::Tensor& result)> check) {
    Operation operation{name, labels_, 1, std::move(work), std::move(check)};
    operation.shows_algorithm = true;
    operation.is_of_many = true;
    run_.measure(operation);
  }

  Passed batch_of(std::int64_t number, EagerForward& in_fp64) {
    eager_.load(number);
    in_fp64.load(number);
    return {eager_.inputs(), eager_.run(), in_fp64.run()};
  }

  static at::Tensor only(const std::vector<at::Tensor>& results) {
    if (results.size() == 1) return results.front();
    refuse_package("the package makes " + std::to_string(results.size()) + " results, the model one");
  }

  // A package throws for a batch that it was not compiled for.
  at::Tensor first_result(const Passed& batch) {
    std::vector<at::Tensor> results;
    try {
      results = package_.run(batch.inputs);
    } catch (const std::exception&) {
      refuse_package("the package does not take the batch of " + std::to_string(work_.batch_size) +
                     " that it says it is of; its words are in stderr.log");
    }
    return only(results);
  }

  Correctness right_for(const Passed& batch, const at::Tensor& result) const {
    return package_is_right(result, batch.fp32, batch.fp64, bound_rel_);
  }

  Correctness is_right(const at::Tensor& result, const Correctness& of_other) {
    Correctness found = right_for(timed_, result);
    if (!found.right) return found;
    if (!of_other.right) {
      Correctness wrong = of_other;
      wrong.finding = "right for the first batch and not for the second: " + of_other.finding;
      wrong.digest = found.digest;
      return wrong;
    }
    differing_ = differing_elements(result, timed_.fp32);
    return found;
  }

  ProbeRun& run_;
  ForwardPackage& package_;
  const PackagedWork& work_;
  Labels labels_;
  EagerForward eager_;
  double bound_rel_;  // of eager
  Passed timed_;
  std::optional<std::int64_t> differing_;
};

}  // namespace

void probe_package(ProbeRun& run) {
  check_is_possible(run);
  const WorkloadRequest& workload = run.request().workload;
  const std::unique_ptr<ForwardPackage> package =
      load_package(run.folder(), workload.package_file, read_own_file(workload.package_file, workload.package_sha256));
  measure_package(run, *package);
}

void measure_package(ProbeRun& run, ForwardPackage& package) {
  check_device(package, run);
  const PackagedWork work = packaged_work_of(package);
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

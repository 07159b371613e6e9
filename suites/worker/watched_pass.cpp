#include "suites/worker/watched_pass.hpp"

#include <exception>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "suites/worker/knobs/knobs.hpp"
#include "suites/worker/knobs/recomputed_block.hpp"
#include "suites/worker/record/implementation_watch.hpp"
#include "suites/worker/training_step.hpp"
#include "suites/worker/worker_failure.hpp"

namespace reprobench {
namespace {

// Gives a model the run's values and keeps what it writes from the run.
class WatchedContext final : public StepContext {
 public:
  explicit WatchedContext(Training& run) : run_(run) {
    // Leaves of their own: hooks that exchange gradients, and the gradients themselves, are of the run's.
    for (std::size_t i = 0; i < run.state.size(); ++i) {
      const at::Tensor& parameter = run.state.parameter(i);
      parameters_.push_back(parameter.detach().set_requires_grad(parameter.requires_grad()));
    }
  }

  const ModelPreset& preset() const override { return run_.plan.preset; }
  const Settings& settings() const override { return run_.plan.settings; }
  const at::Tensor& parameter(std::size_t index) const override { return parameters_.at(index); }
  const at::Tensor& buffer(std::size_t index) const override {
    const auto [found, is_new] = buffers_.try_emplace(index);
    if (is_new) found->second = run_.state.buffer(index).clone();
    return found->second;
  }
  void tap(const at::Tensor&, std::string_view) override {}
  void mask(const at::Tensor&, std::string_view) override {}
  void choice(const at::Tensor&, std::string_view) override {}
  // As in a step, whose memory a training that computes blocks again may need; what is computed twice is seen twice.
  at::Tensor block(const std::vector<at::Tensor>& inputs, const BlockFunction& compute) override {
    if (!settings().gradient_checkpointing || std::exchange(in_block_, true)) return compute(inputs);
    const auto again = [this, compute](const std::vector<at::Tensor>& given) {
      const AutocastScope autocast(run_.plan.settings.precision, run_.plan.device->where());
      in_block_ = true;
      at::Tensor output = compute(given);
      in_block_ = false;
      return output;
    };
    at::Tensor output = compute_and_forget(inputs, compute, again, run_.replay.makers());
    in_block_ = false;
    return output;
  }
  bool plants(std::string_view kind, std::string_view module) override { return run_.fault.changes(kind, module); }
  void keep(std::shared_ptr<const void> network) override { network_ = std::move(network); }

 private:
  Training& run_;
  std::vector<at::Tensor> parameters_;
  mutable std::map<std::size_t, at::Tensor> buffers_;
  bool in_block_ = false;  // a block within a block is part of it
  std::shared_ptr<const void> network_;
};

void pass(Training& run) {
  WatchedContext context(run);
  const Batch& batch = run.batches.micro_batch(run.layout().number(0, 0));
  Outputs outputs;
  {
    const AutocastScope autocast(run.plan.settings.precision, run.plan.device->where());
    outputs = run.plan.model.forward(batch, context);
  }
  const at::Tensor loss = run.plan.model.loss(widened(std::move(outputs)), batch);
  run.scaler.scales() ? loss.mul(run.scaler.scale()).backward() : loss.backward();
}

StepImplementations not_known(const std::string& why) {
  StepImplementations step;
  step.unknown = why.substr(0, kLongestImplementationText);
  return step;
}

}  // namespace

StepImplementations implementations_of_last_step(Training& run) {
  if (!run.plan.device->where().is_cpu()) return not_known("the kernels of a GPU are not watched after a training");
  if (run.state.sharding().shares_parameters()) {
    return not_known("parameters are shared out between the ranks, and no rank has them whole after a step");
  }
  try {
    run.state.note_model_state();
    run.parallelism->clear_gradients();
    return implementations_heard([&] { pass(run); });
  } catch (...) {
    return not_known("the pass that shows them failed: " + failure_of(std::current_exception(), 0).detail);
  }
}

}  // namespace reprobench

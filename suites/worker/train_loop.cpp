#include "suites/worker/train_loop.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <ATen/core/Tensor.h>

#include "matrix/contract/number.hpp"
#include "suites/worker/knobs.hpp"
#include "suites/worker/process_facts.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/step_recorder.hpp"
#include "suites/worker/workload_digest.hpp"

namespace reprobench {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t nanoseconds(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

const Model& model_named(const std::string& name) {
  for (const Model* model : models()) {
    if (model->name() == name) return *model;
  }
  throw RunFailure("bad_request", "there is no model `" + name + "`");
}

const ModelPreset& preset_named(const Model& model, const std::string& name) {
  for (const ModelPreset& preset : model.presets()) {
    if (preset.name == name) return preset;
  }
  throw RunFailure("bad_request", "model `" + std::string(model.name()) + "` has no preset `" + name + "`");
}

void check_request(const CellRequest& request) {
  if (request.workload.steps < 1) throw RunFailure("bad_request", "`steps` is not positive");
  if (request.device != "cpu")
    throw RunFailure("unsupported", "this worker trains on `cpu`, not `" + request.device + "`");
  if (request.world_size != 1) throw RunFailure("unsupported", "this worker trains with `world_size` 1");
  if (request.poison_allocator && std::getenv("MALLOC_PERTURB_") == nullptr) {
    throw RunFailure("bad_request", "`poison_allocator` is asked for, but MALLOC_PERTURB_ is not set");
  }
}

void check_injection(const Injection& injection, const CellRequest& request, const TrainState& state) {
  if (injection.kind != "weight_ulp")
    throw RunFailure("bad_request", "inject: there is no kind `" + injection.kind + "`");
  if (injection.step < 1 || injection.step > request.workload.steps) {
    throw RunFailure("bad_request", "inject: step " + std::to_string(injection.step) + " is not one of the " +
                                        std::to_string(request.workload.steps) + " steps");
  }
  state.check_element(injection.tensor, injection.element);
}

// What the model sees of a step.
class LoopContext final : public StepContext {
 public:
  LoopContext(const TrainState& state, StepRecorder& recorder) : state_(state), recorder_(recorder) {}

  const at::Tensor& parameter(std::size_t index) const override { return state_.parameter(index); }
  void tap(const at::Tensor& value, std::string_view name) override { recorder_.tap(value, name); }
  void count(const at::Tensor& mask, std::string_view event) override { recorder_.count(mask, event); }

 private:
  const TrainState& state_;
  StepRecorder& recorder_;
};

struct StepOutcome {
  at::Tensor output;
  at::Tensor loss;
  StepRecord record;
};

// One timed step. Gradients of the step before are dropped in its data phase, so the recorder can still read them.
StepOutcome run_step(std::int64_t step, const Model& model, Precision precision, TrainState& state,
                     BatchSource& batches, StepContext& context) {
  StepOutcome outcome;
  const auto start = Clock::now();
  state.clear_gradients();
  batches.load(step);
  const auto loaded = Clock::now();
  {
    const AutocastScope autocast(precision);
    outcome.output = model.forward(batches.input(), context);
  }
  const bool widen = outcome.output.scalar_type() == at::kBFloat16;
  outcome.loss = model.loss(widen ? outcome.output.to(at::kFloat) : outcome.output, batches.target());
  const auto forwarded = Clock::now();
  outcome.loss.backward();
  const auto differentiated = Clock::now();
  state.update();
  const auto updated = Clock::now();
  outcome.record.step = step;
  outcome.record.step_time_ns = nanoseconds(updated - start);
  outcome.record.phases = {nanoseconds(loaded - start), nanoseconds(forwarded - loaded),
                           nanoseconds(differentiated - forwarded), nanoseconds(updated - differentiated)};
  return outcome;
}

double fill_loss(const at::Tensor& loss, StepRecord& record) {
  if (loss.scalar_type() == at::kDouble) {
    const double value = *static_cast<const double*>(loss.data_ptr());
    record.loss = exact_float(value);
    return value;
  }
  const float value = *static_cast<const float*>(loss.data_ptr());
  record.loss = exact_float(value);
  return static_cast<double>(value);
}

void run_steps(const CellRequest& request, const Model& model, const ModelPreset& preset, Precision precision,
               TrainState& state, BatchSource& batches, StepRecorder& recorder, TraceWriter& trace,
               CellResult& result) {
  LoopContext context(state, recorder);
  for (std::int64_t step = 1; step <= request.workload.steps; ++step) {
    if (request.inject && request.inject->step == step) {
      state.nudge_element(request.inject->tensor, request.inject->element);
    }
    recorder.before_step(step);
    StepOutcome outcome = run_step(step, model, precision, state, batches, context);
    if (step == 1) result.start_to_first_step_ns = since_process_start_ns();
    outcome.record.learning_rate = preset.optimizer.learning_rate;
    outcome.record.samples = request.workload.batch_size;
    const double loss = fill_loss(outcome.loss, outcome.record);
    recorder.after_step(std::move(outcome.record), outcome.output, outcome.loss);
    result.steps_completed = step;
    result.chain = to_hex(recorder.chain());
    result.trace_lines = trace.lines();
    if (!std::isfinite(loss)) {
      trace.write();
      throw RunFailure("non_finite_loss", "loss is " + json_number(loss).dump() + " at step " + std::to_string(step));
    }
    trace.write_if_due();
  }
}

}  // namespace

void run_training(const CellRequest& request, const std::filesystem::path& folder,
                  const std::filesystem::path& data_folder, CellResult& result) {
  result.knobs_resolved = apply_knobs(request.knobs);
  check_request(request);
  const Model& model = model_named(request.workload.model);
  const ModelPreset& preset = preset_named(model, request.workload.preset);
  const Precision precision = precision_of(result.knobs_resolved);
  const auto seed = static_cast<std::uint64_t>(std::stoull(result.knobs_resolved.at("seed")));
  TrainState state(model, preset, seed, precision);
  BatchSource batches(model.dataset(), data_folder, seed, request.workload.batch_size, precision);
  if (request.inject) check_injection(*request.inject, request, state);

  const Digest workload = workload_digest(model, preset, request.workload, precision, state, batches);
  result.workload_digest = to_hex(workload);
  TraceWriter trace(folder / "trace.jsonl");
  trace.add(to_json(TraceHeader{request.cell_id, request.nonce, result.workload_digest, request.trace}));
  trace.write();
  StepRecorder recorder(request.trace, request.workload.steps, workload, state, batches, trace);
  run_steps(request, model, preset, precision, state, batches, recorder, trace, result);
  recorder.finish();
  result.trace_lines = trace.lines();
}

}  // namespace reprobench

#include "suites/worker/train_loop.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
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

volatile std::sig_atomic_t stop_requested = 0;

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
  if (injection.kind != "weight_ulp" && injection.kind != "weight_nan")
    throw RunFailure("bad_request", "inject: there is no kind `" + injection.kind + "`");
  if (injection.step < 1 || injection.step > request.workload.steps) {
    throw RunFailure("bad_request", "inject: step " + std::to_string(injection.step) + " is not one of the " +
                                        std::to_string(request.workload.steps) + " steps");
  }
  state.check_element(injection.tensor, injection.element);
}

void plant(const Injection& injection, TrainState& state) {
  if (injection.kind == "weight_nan") {
    state.poison_element(injection.tensor, injection.element);
  } else {
    state.nudge_element(injection.tensor, injection.element);
  }
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
  StepMeasurement measured;
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
  outcome.measured.step = step;
  outcome.measured.step_time_ns = nanoseconds(updated - start);
  outcome.measured.phases = {nanoseconds(loaded - start), nanoseconds(forwarded - loaded),
                             nanoseconds(differentiated - forwarded), nanoseconds(updated - differentiated)};
  return outcome;
}

ExactValue loss_value(const at::Tensor& loss) {
  if (loss.scalar_type() == at::kDouble) return {*static_cast<const double*>(loss.data_ptr()), true};
  return {static_cast<double>(*static_cast<const float*>(loss.data_ptr())), false};
}

struct Run {
  const CellRequest& request;
  const Model& model;
  const ModelPreset& preset;
  Precision precision;
  TrainState& state;
  BatchSource& batches;
  StepRecorder& recorder;
  TraceWriter& trace;
  CellResult& result;
};

void record_step(Run& run, StepOutcome& outcome) {
  StepMeasurement& measured = outcome.measured;
  measured.learning_rate = run.preset.optimizer.learning_rate;
  measured.samples = run.request.workload.batch_size;
  measured.loss = loss_value(outcome.loss);
  run.recorder.after_step(measured, outcome.output, outcome.loss);
  run.result.steps_completed = measured.step;
  if (!std::isfinite(measured.loss.value)) {
    throw RunFailure("non_finite_loss", "loss is " + json_number(measured.loss.value).dump() + " at step " +
                                            std::to_string(measured.step));
  }
  run.trace.write_if_due();
}

void run_steps(Run& run, Telemetry telemetry) {
  LoopContext context(run.state, run.recorder);
  const auto& inject = run.request.inject;
  for (std::int64_t step = 1; step <= run.request.workload.steps; ++step) {
    if (inject && inject->step == step) plant(*inject, run.state);
    if (telemetry == Telemetry::on) run.recorder.before_step(step);
    StepOutcome outcome = run_step(step, run.model, run.precision, run.state, run.batches, context);
    if (step == 1) run.result.start_to_first_step_ns = since_process_start_ns();
    if (telemetry == Telemetry::on) record_step(run, outcome);
    if (stop_requested != 0 && step < run.request.workload.steps) {
      stop_requested = 0;
      throw RunFailure("interrupted", "asked to stop after step " + std::to_string(step));
    }
  }
  if (telemetry == Telemetry::on) run.recorder.finish();
}

// What is known of a run however it ended.
void close_record(const StepRecorder& recorder, TraceWriter& trace, CellResult& result) {
  trace.write();
  result.chain = to_hex(recorder.chain());
  result.trace_lines = trace.lines();
}

}  // namespace

void run_training(const CellRequest& request, const std::filesystem::path& folder,
                  const std::filesystem::path& data_folder, CellResult& result, Telemetry telemetry) {
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
  Run run{request, model, preset, precision, state, batches, recorder, trace, result};
  try {
    run_steps(run, telemetry);
  } catch (...) {
    close_record(recorder, trace, result);
    throw;
  }
  close_record(recorder, trace, result);
}

void request_stop() { stop_requested = 1; }

}  // namespace reprobench

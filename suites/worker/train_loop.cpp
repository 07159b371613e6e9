#include "suites/worker/train_loop.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <optional>

#include <ATen/core/Tensor.h>

#include "matrix/contract/number.hpp"
#include "suites/worker/faults.hpp"
#include "suites/worker/knobs.hpp"
#include "suites/worker/process_facts.hpp"
#include "suites/worker/replay.hpp"
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

struct Run {
  const CellRequest& request;
  const Model& model;
  const ModelPreset& preset;
  Precision precision;
  TrainState& state;
  BatchSource& batches;
  StepRecorder& recorder;
  ReplayRecorder& replay;
  Fault* fault;  // null: none planted
  TraceWriter& trace;
  CellResult& result;

  bool fault_acts(FaultPhase phase, std::int64_t step) const { return fault != nullptr && fault->act(phase, step); }
};

// What the model sees of a step.
class LoopContext final : public StepContext {
 public:
  explicit LoopContext(const Run& run) : run_(run), settings_(model_settings_of(run.result.knobs_resolved)) {}

  const ModelPreset& preset() const override { return run_.preset; }
  const ModelSettings& settings() const override { return settings_; }
  const at::Tensor& parameter(std::size_t index) const override { return run_.state.parameter(index); }
  void tap(const at::Tensor& value, std::string_view name) override {
    run_.replay.end_module(name);
    run_.recorder.tap(value, name);
  }
  void mask(const at::Tensor& mask, std::string_view event) override { run_.recorder.mask(mask, event); }
  void choice(const at::Tensor& scores, std::string_view event) override { run_.recorder.choice(scores, event); }

 private:
  const Run& run_;
  ModelSettings settings_;
};

struct StepOutcome {
  at::Tensor output;
  at::Tensor loss;
  StepMeasurement measured;
};

// One timed step. Gradients of the step before are dropped in its data phase, so the recorder can still read them.
StepOutcome run_step(std::int64_t step, const Run& run, StepContext& context) {
  StepOutcome outcome;
  const auto start = Clock::now();
  run.state.clear_gradients();
  run.batches.load(step);
  run.fault_acts(FaultPhase::after_load, step);
  const auto loaded = Clock::now();
  run.replay.enter_pass("forward");
  {
    const AutocastScope autocast(run.precision);
    outcome.output = run.model.forward(run.batches.input(), context);
  }
  const bool widen = outcome.output.scalar_type() == at::kBFloat16;
  outcome.loss = run.model.loss(widen ? outcome.output.to(at::kFloat) : outcome.output, run.batches.target());
  const auto forwarded = Clock::now();
  run.replay.enter_pass("backward");
  outcome.loss.backward();
  run.fault_acts(FaultPhase::after_backward, step);
  const auto differentiated = Clock::now();
  run.replay.enter_pass("optimizer");
  if (run.replay.updates() && !run.fault_acts(FaultPhase::instead_of_update, step)) run.state.update();
  run.fault_acts(FaultPhase::after_update, step);
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
  LoopContext context(run);
  const std::int64_t first = first_step_of(run.request);
  const std::int64_t last = last_step_of(run.request);
  for (std::int64_t step = first; step <= last; ++step) {
    run.fault_acts(FaultPhase::before_step, step);
    if (telemetry == Telemetry::on) run.recorder.before_step(step);
    run.replay.begin_step(step);
    StepOutcome outcome = run_step(step, run, context);
    run.replay.end_step();
    if (step == first) run.result.start_to_first_step_ns = since_process_start_ns();
    if (telemetry == Telemetry::on) record_step(run, outcome);
    run.replay.after_step(step, run.recorder.chain());
    if (stop_requested != 0 && step < last) {
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
  BatchSource batches(model, preset, data_folder, seed, request.workload.batch_size, precision);
  std::optional<Fault> fault;
  if (request.inject) fault.emplace(*request.inject, request, state, batches);

  const Digest workload = workload_digest(model, preset, request.workload, result.knobs_resolved, state, batches);
  result.workload_digest = to_hex(workload);
  TraceWriter trace(folder / "trace.jsonl");
  trace.add(to_json(TraceHeader{request.cell_id, request.nonce, result.workload_digest, request.trace}));
  trace.write();
  ReplayRecorder replay(request, folder, seed, workload, state, fault ? fault->in_operators() : nullptr);
  StepRecorder recorder(request.trace, request.workload.steps, replay.chain_before(), state, batches, trace);
  Run run{request, model, preset, precision, state, batches, recorder, replay, fault ? &*fault : nullptr,
          trace,   result};
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

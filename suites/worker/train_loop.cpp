#include "suites/worker/train_loop.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include <ATen/core/Tensor.h>

#include "matrix/contract/available_memory.hpp"
#include "matrix/contract/number.hpp"
#include "models/state_bytes.hpp"
#include "suites/worker/checkpoints.hpp"
#include "suites/worker/device.hpp"
#include "suites/worker/faults.hpp"
#include "suites/worker/gradient_norm.hpp"
#include "suites/worker/knobs.hpp"
#include "suites/worker/operator_hook.hpp"
#include "suites/worker/process_facts.hpp"
#include "suites/worker/ranks/gathered_parameters.hpp"
#include "suites/worker/ranks/gradient_sum.hpp"
#include "suites/worker/ranks/rank_group.hpp"
#include "suites/worker/ranks/zero_shards.hpp"
#include "suites/worker/recomputed_block.hpp"
#include "suites/worker/replay.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/stack_probe.hpp"
#include "suites/worker/step_recorder.hpp"
#include "suites/worker/tensor_guard.hpp"
#include "suites/worker/workload_digest.hpp"

namespace reprobench {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

const Model& model_named(std::span<const Model* const> all, std::string_view name) {
  for (const Model* model : all) {
    if (model->name() == name) return *model;
  }
  throw RunFailure("bad_request", "there is no model `" + std::string(name) + "`");
}

const ModelPreset& preset_named(const Model& model, const std::string& name) {
  for (const ModelPreset& preset : model.presets()) {
    if (preset.name == name) return preset;
  }
  throw RunFailure("bad_request", "model `" + std::string(model.name()) + "` has no preset `" + name + "`");
}

void check_request(const CellRequest& request) {
  if (request.workload.steps < 1) throw RunFailure("bad_request", "`steps` is not positive");
  if (request.world_size > 1 && request.device != "cpu") {
    throw RunFailure("unsupported", "this worker knows no collectives between GPUs");
  }
  if (request.device != "cpu" && request.knobs.contains("offload") && request.knobs.at("offload") != "none") {
    throw RunFailure("unsupported", "`offload`: updates on the host of what a GPU trains are not built");
  }
  if (request.replay && request.checkpoint) throw RunFailure("unsupported", "a replay has no checkpoints");
  if (request.poison_allocator && std::getenv("MALLOC_PERTURB_") == nullptr) {
    throw RunFailure("bad_request", "`poison_allocator` is asked for, but MALLOC_PERTURB_ is not set");
  }
}

// What shows or launches a step as one piece knows a single forward and backward pass.
void check_whole(const Layout& layout, const CellRequest& request, const ComputeDevice& device) {
  if (layout.is_whole()) return;
  if (request.replay) throw RunFailure("unsupported", "a replay does steps of one micro-batch on one rank");
  if (device.records_steps()) throw RunFailure("unsupported", "a recorded step has one micro-batch on one rank");
}

// A state that cannot fit is refused before any of it is allocated: the kernel would kill the process, or swap.
void check_memory(const Model& model, const ModelPreset& preset, Precision precision, const ComputeDevice& device) {
  if (!device.where().is_cpu()) return;
  const StateBytes bytes = state_bytes(model, preset, precision == Precision::fp64 ? 8 : 4);
  const std::int64_t available_bytes = available_memory_bytes();
  if (bytes.total() <= available_bytes) return;
  std::array<char, 64> have{};
  std::snprintf(have.data(), have.size(), "%.1f GB are available", static_cast<double>(available_bytes) * 1e-9);
  throw RunFailure("host_oom", std::string(model.name()) + "/" + std::string(preset.name) + " keeps " +
                                   arithmetic_of(bytes) + "; " + have.data());
}

struct Run {
  const CellRequest& request;
  const Model& model;
  const ModelPreset& preset;
  Precision precision;
  TrainState& state;
  BatchSource& batches;
  ComputeDevice& device;
  StepRecorder& recorder;
  ReplayRecorder& replay;
  Checkpoints& checkpoints;
  GradientSum& gradients;
  ZeroShards* shards;            // null: every rank has all of the state
  GatheredParameters* gathered;  // null: every rank has all parameters whole
  const TensorGuard& guard;
  double max_grad_norm;  // 0: any
  Fault* fault;          // null: none planted
  TraceWriter& trace;
  CellResult& result;

  const Layout& layout() const { return batches.layout(); }
  // A forward or backward pass: what reads parameters.
  template <class Pass>
  void pass(Pass work) const {
    gathered == nullptr ? work() : gathered->during(work);
  }
  bool fault_acts(FaultPhase phase, std::int64_t step) const { return fault != nullptr && fault->act(phase, step); }
};

// What the model sees of a step.
class LoopContext final : public StepContext {
 public:
  explicit LoopContext(const Run& run)
      : run_(run), checkpoints_blocks_(run.result.knobs_resolved.at("gradient_checkpointing") == "on") {}

  const ModelPreset& preset() const override { return run_.preset; }
  std::string_view knob(std::string_view name) const override {
    return run_.result.knobs_resolved.at(std::string(name));
  }
  const at::Tensor& parameter(std::size_t index) const override { return run_.state.parameter(index); }
  const at::Tensor& buffer(std::size_t index) const override { return run_.state.buffer(index); }
  void tap(const at::Tensor& value, std::string_view name) override {
    if (in_block_ == InBlock::again) return;
    run_.replay.end_module(name);
    run_.recorder.tap(value, named(name));
  }
  void mask(const at::Tensor& mask, std::string_view event) override {
    if (in_block_ != InBlock::again) run_.recorder.mask(mask, named(event));
  }
  void choice(const at::Tensor& scores, std::string_view event) override {
    if (in_block_ != InBlock::again) run_.recorder.choice(scores, named(event));
  }

  // A block within a block is part of it.
  at::Tensor block(const std::vector<at::Tensor>& inputs, const BlockFunction& compute) override {
    if (!checkpoints_blocks_ || in_block_ != InBlock::no) return compute(inputs);
    has_blocks_ = true;
    const Within within(in_block_, InBlock::first_time);
    const auto again = [this, compute](const std::vector<at::Tensor>& given) {
      const OperatorPause pause;
      const AutocastScope autocast(run_.precision, run_.device.where());
      const Within within_again(in_block_, InBlock::again);
      return compute(given);
    };
    return compute_and_forget(inputs, compute, again, run_.replay.makers());
  }
  void keep(std::shared_ptr<const void> network) override { network_ = std::move(network); }

  void enter_micro_batch(std::int64_t number) { micro_batch_ = number; }
  const Batch& batch() const { return run_.batches.micro_batch(micro_batch_); }

  void check_blocks() const {
    if (!checkpoints_blocks_ || has_blocks_) return;
    throw RunFailure("unsupported", "`gradient_checkpointing`: " + std::string(run_.model.name()) +
                                        " is no stack of blocks that could be computed again");
  }

 private:
  enum class InBlock { no, first_time, again };

  class Within {
   public:
    Within(InBlock& state, InBlock now) : state_(state), before_(std::exchange(state, now)) {}
    ~Within() { state_ = before_; }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    InBlock& state_;
    InBlock before_;
  };

  std::string named(std::string_view name) const { return run_.layout().named(name, micro_batch_); }

  const Run& run_;
  bool checkpoints_blocks_;
  bool has_blocks_ = false;
  InBlock in_block_ = InBlock::no;
  std::shared_ptr<const void> network_;
  std::int64_t micro_batch_ = 0;
};

struct StepOutcome {
  Outputs outputs;
  at::Tensor loss;
  std::optional<double> grad_norm = {};  // before clipping, where the step clips
  bool is_clipped = false;
  std::unique_ptr<StepTimer> timer;
};

// A loss is summed up in fp32 or wider.
Outputs widened(Outputs outputs) {
  for (at::Tensor& output : outputs) {
    const at::ScalarType type = output.scalar_type();
    if (type == at::kBFloat16 || type == at::kHalf) output = output.to(at::kFloat);
  }
  return outputs;
}

// Forward pass and loss.
void run_forward(const Run& run, LoopContext& context, StepOutcome& outcome) {
  run.replay.enter_pass("forward");
  run.pass([&] {
    const AutocastScope autocast(run.precision, run.device.where());
    outcome.outputs = run.model.forward(context.batch(), context);
  });
  context.check_blocks();
  outcome.loss = run.model.loss(widened(outcome.outputs), context.batch());
}

// Gradients smaller than fp16's least number would be lost on their way through the network, so the loss is scaled and
// the gradients are scaled back (Micikevicius et al. 2018, "Mixed Precision Training", section 3.2). A constant power
// of two is exact and the same on every stack; should it overflow, the loss becomes NaN and ends the run.
constexpr double kFp16LossScale = 1024;

void run_backward(const Run& run, StepOutcome& outcome) {
  if (run.precision != Precision::fp16) return run.pass([&] { outcome.loss.backward(); });
  run.pass([&] { outcome.loss.mul(kFp16LossScale).backward(); });
  run.state.scale_gradients(1 / kFp16LossScale);
}

// From the gradients to the next step's parameters, on every rank.
void run_update(std::int64_t step, const Run& run, StepOutcome& outcome) {
  run.guard.check(PhaseSide::after, StatePhase::gradients);
  run.replay.enter_pass("optimizer");
  run.fault_acts(FaultPhase::before_update, step);
  if (run.max_grad_norm > 0) {
    run.guard.around(StatePhase::clip, [&] {
      outcome.grad_norm = gradient_norm(run.state, run.shards);
      outcome.is_clipped = clip_gradients(run.state, *outcome.grad_norm, run.max_grad_norm);
    });
  }
  run.guard.around(StatePhase::optimizer, [&] {
    if (run.replay.updates() && !run.fault_acts(FaultPhase::instead_of_update, step)) run.state.update(step);
  });
  run.fault_acts(FaultPhase::after_update, step);
  outcome.timer->mark(StepMark::updated);
  if (run.shards == nullptr || run.gathered != nullptr) return;
  run.guard.around(StatePhase::gather, [&] { run.shards->gather_parameters(); });
  outcome.timer->mark(StepMark::reduced);
}

// The most that parameters, gradients and optimizer state took, as far as that is seen: with all gradients of a pass
// there, and wherever parameters were gathered.
void note_model_state(const TrainState& state, const GatheredParameters* gathered, CellResult& result) {
  std::int64_t& peak_bytes = result.model_state_peak_bytes;
  peak_bytes = std::max(peak_bytes, state.model_state_bytes());
  if (gathered != nullptr) peak_bytes = std::max(peak_bytes, gathered->peak_bytes());
}

// One timed step. Gradients of the step before are dropped in its data phase, so the recorder can still read them.
StepOutcome run_step(std::int64_t step, const Run& run, LoopContext& context) {
  StepOutcome outcome;
  outcome.timer = run.device.start_step();
  StepTimer& timer = *outcome.timer;
  timer.mark(StepMark::begin);
  run.state.clear_gradients();
  run.guard.check(PhaseSide::before, StatePhase::gradients);
  run.batches.load(run.checkpoints.data_step(step));
  run.fault_acts(FaultPhase::after_load, step);
  timer.mark(StepMark::loaded);
  for (std::int64_t number = 0; number < run.layout().accumulated; ++number) {
    if (number > 0) run.state.clear_gradients();
    context.enter_micro_batch(number);
    run_forward(run, context, outcome);
    timer.mark(StepMark::forwarded);
    run.replay.enter_pass("backward");
    run_backward(run, outcome);
    if (number == 0) run.fault_acts(FaultPhase::after_backward, step);
    timer.mark(StepMark::differentiated);
    note_model_state(run.state, run.gathered, run.result);
    if (run.layout().is_whole()) break;
    run.recorder.micro_batch_gradients(number);
    run.gradients.add(outcome.loss);
    timer.mark(StepMark::reduced);
  }
  if (!run.layout().is_whole()) {
    outcome.loss = run.gradients.finish();
    timer.mark(StepMark::reduced);
  }
  run_update(step, run, outcome);
  return outcome;
}

// A step recorded once and launched whole. It has no phases inside: all of its time is `forward`.
class RecordedStep {
 public:
  RecordedStep(const Run& run, LoopContext& context) : run_(run), context_(context) {}

  StepOutcome run(std::int64_t step) {
    StepOutcome outcome;
    outcome.timer = run_.device.start_step();
    outcome.timer->mark(StepMark::begin);
    run_.batches.load(run_.checkpoints.data_step(step));
    run_.state.begin_update(step);
    outcome.timer->mark(StepMark::loaded);
    if (work_ == nullptr) work_ = run_.device.record([this] { compute(); });
    work_->replay();
    for (const StepMark mark : {StepMark::forwarded, StepMark::differentiated, StepMark::updated}) {
      outcome.timer->mark(mark);
    }
    outcome.outputs = recorded_.outputs;
    outcome.loss = recorded_.loss;
    return outcome;
  }

 private:
  void compute() {
    run_.state.clear_gradients();
    run_forward(run_, context_, recorded_);
    run_backward(run_, recorded_);
    run_.state.apply_update();
  }

  const Run& run_;
  LoopContext& context_;
  StepOutcome recorded_;
  std::unique_ptr<RecordedWork> work_;
};

// LibTorch chooses algorithms and allocates workspaces in the first steps, which a recording cannot hold.
constexpr std::int64_t kStepsBeforeRecording = 3;

// Waits for the oldest steps until fewer than `limit` are under way.
void complete_steps(Run& run, std::size_t limit) {
  while (run.recorder.in_flight() >= limit && run.recorder.in_flight() > 0) {
    const StepMeasurement measured = run.recorder.complete_oldest();
    run.result.steps_completed = measured.step;
    if (!std::isfinite(measured.loss.value)) {
      throw RunFailure("non_finite_loss", "loss is " + json_number(measured.loss.value).dump() + " at step " +
                                              std::to_string(measured.step));
    }
    run.trace.write_if_due();
  }
}

void record_step(Run& run, std::int64_t step, StepOutcome& outcome) {
  StepMeasurement measured;
  measured.step = step;
  measured.learning_rate = run.state.learning_rate(step);
  measured.grad_norm = outcome.grad_norm;
  if (outcome.grad_norm) measured.events["clipped"] = outcome.is_clipped ? 1 : 0;
  measured.samples = run.batches.micro_batch_size() * run.layout().accumulated;
  run.recorder.capture(std::move(measured), std::move(outcome.timer), outcome.outputs, outcome.loss);
  // A replay writes the chain into its states, so it waits for each step.
  complete_steps(run, run.request.replay ? 1 : run.device.steps_in_flight());
}

void keep_checkpoint(Run& run, std::int64_t step) {
  complete_steps(run, 0);  // the chain up to here is part of it
  run.checkpoints.write(step, run.recorder.chain());
}

// After the step in hand, and with a checkpoint where the run has some.
void stop_if_asked(Run& run, std::int64_t step) {
  if (!take_stop_request()) return;
  complete_steps(run, 0);
  if (run.checkpoints.are_written() && !run.checkpoints.is_due(step)) keep_checkpoint(run, step);
  throw RunFailure("interrupted", "asked to stop after step " + std::to_string(step));
}

void run_steps(Run& run, Telemetry telemetry) {
  LoopContext context(run);
  RecordedStep recorded(run, context);
  const std::int64_t first = run.request.replay ? first_step_of(run.request) : run.checkpoints.first_step();
  const std::int64_t last = last_step_of(run.request);
  for (std::int64_t step = first; step <= last; ++step) {
    run.fault_acts(FaultPhase::before_step, step);
    if (telemetry == Telemetry::on) run.recorder.before_step(step);
    run.replay.begin_step(step);
    StepOutcome outcome = run.device.records_steps() && step - first >= kStepsBeforeRecording
                              ? recorded.run(step)
                              : run_step(step, run, context);
    run.replay.end_step();
    if (step == first) {
      run.device.synchronize();
      run.result.start_to_first_step_ns = since_process_start_ns();
    }
    if (telemetry == Telemetry::on) record_step(run, step, outcome);
    run.replay.after_step(step, run.recorder.chain());
    if (run.checkpoints.is_due(step)) keep_checkpoint(run, step);
    if (step < last) stop_if_asked(run, step);
  }
  complete_steps(run, 0);
  run.device.synchronize();
  if (telemetry == Telemetry::on) run.recorder.finish();
}

// What is known of a run however it ended.
void close_record(const StepRecorder& recorder, const TrainState& state, const ComputeDevice& device,
                  TraceWriter& trace, CellResult& result) {
  result.optimizer_state_bytes = state.optimizer_state_bytes();
  note_model_state(state, nullptr, result);
  const DeviceMemory memory = device.memory();
  result.peak_allocated_bytes = memory.peak_allocated_bytes;
  result.peak_reserved_bytes = memory.peak_reserved_bytes;
  trace.write();
  result.chain = to_hex(recorder.chain());
  result.trace_lines = trace.lines();
}

}  // namespace

void run_training(const CellRequest& request, const std::filesystem::path& folder,
                  const std::filesystem::path& data_folder, CellResult& result, Telemetry telemetry, OpenDevice open,
                  const WorkloadTables& tables) {
  result.knobs_resolved = apply_knobs(knobs_of_rank(request));
  check_request(request);
  const Layout layout = layout_of(request, result.knobs_resolved);
  const Model& model = model_named(tables.models, request.workload.model);
  const ModelPreset preset = with_schedule(preset_named(model, request.workload.preset), result.knobs_resolved);
  const Precision precision = precision_of(result.knobs_resolved);
  const auto seed = static_cast<std::uint64_t>(std::stoull(result.knobs_resolved.at("seed")));
  const std::unique_ptr<ComputeDevice> device = open(request.device, device_options_of(result.knobs_resolved));
  if (device->records_steps() && (request.inject || request.replay || request.trace == TraceLevel::tensor)) {
    throw RunFailure("unsupported",
                     "a recorded step shows nothing inside: no faults, replays or traces of every tensor");
  }
  check_whole(layout, request, *device);
  const double max_grad_norm = std::stod(result.knobs_resolved.at("max_grad_norm"));
  if (device->records_steps() && max_grad_norm > 0) {
    throw RunFailure("unsupported", "a recorded step waits for nothing, and `max_grad_norm` waits for the norm");
  }
  result.fingerprint.device = fingerprint_of(*device);
  if (result.fingerprint.device) result.fingerprint.device_name = result.fingerprint.device->name;
  check_memory(model, preset, precision, *device);
  TrainState state(model, preset, request.workload.steps, seed, precision, device->where(),
                   sharding_of(layout, result.knobs_resolved));
  if (device->records_steps()) state.keep_step_numbers_on_device();
  BatchSource batches(model, preset, tables.data_sets, data_folder, seed, request.workload.batch_size, precision,
                      device->where(), layout);
  std::optional<Fault> fault;
  if (request.inject && !is_of_resuming(*request.inject)) fault.emplace(*request.inject, request, state, batches);

  const Digest workload = workload_digest(model, preset, request.workload, result.knobs_resolved, state, batches);
  result.workload_digest = to_hex(workload);
  Checkpoints checkpoints(request, workload, state, *device, result);
  TraceWriter trace(folder / "trace.jsonl");
  trace.add(to_json(TraceHeader{request.cell_id, request.nonce, result.workload_digest, request.trace,
                                trace.monotonic_us(), request.rank, loaded_torch_version(), checkpoints.resumed()}));
  trace.write();
  ReplayRecorder replay(request, folder, seed, workload, state, fault ? fault->in_operators() : nullptr);
  std::optional<RankGroup> ranks;
  if (layout.ranks > 1) ranks.emplace(request, folder);
  std::optional<ZeroShards> shards;
  if (state.sharding().is_on()) shards.emplace(*ranks, state);
  GradientSum gradients(batches.layout(), ranks ? &*ranks : nullptr, shards ? &*shards : nullptr, state);
  const Digest& chain_before = request.replay ? replay.chain_before() : checkpoints.chain_before();
  StepRecorder recorder(request.trace, request.workload.steps, chain_before, state, shards ? &*shards : nullptr,
                        batches, *device, trace);
  std::optional<GatheredParameters> gathered;
  if (state.sharding().shares_parameters()) {
    const double share = layout.accumulated == 1 ? 1.0 / layout.ranks : 0;  // else gradients are added up first
    gathered.emplace(*shards, state, share, [&](std::size_t i) { recorder.micro_batch_gradient(i, 0); });
  }
  const TensorGuard guard(state, device->where(), result.knobs_resolved);
  Run run{request,
          model,
          preset,
          precision,
          state,
          batches,
          *device,
          recorder,
          replay,
          checkpoints,
          gradients,
          shards ? &*shards : nullptr,
          gathered ? &*gathered : nullptr,
          guard,
          max_grad_norm,
          fault ? &*fault : nullptr,
          trace,
          result};
  try {
    run_steps(run, telemetry);
  } catch (...) {
    close_record(recorder, state, *device, trace, result);
    throw;
  }
  close_record(recorder, state, *device, trace, result);
}

void request_stop() { stop_requested = 1; }

bool take_stop_request() {
  const bool asked = stop_requested != 0;
  stop_requested = 0;
  return asked;
}

}  // namespace reprobench

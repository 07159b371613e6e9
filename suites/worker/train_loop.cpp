#include "suites/worker/train_loop.hpp"

#include <cmath>
#include <csignal>
#include <optional>
#include <utility>

#include <ATen/core/Tensor.h>

#include "matrix/base/number.hpp"
#include "suites/worker/data/own_file.hpp"
#include "suites/worker/gemm_peak.hpp"
#include "suites/worker/knobs/knobs.hpp"
#include "suites/worker/process_facts.hpp"
#include "suites/worker/ranks/rank_group.hpp"
#include "suites/worker/record/workload_digest.hpp"
#include "suites/worker/request_checks.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/stack_probe.hpp"
#include "suites/worker/state/state_memory.hpp"
#include "suites/worker/state/weight_change.hpp"
#include "suites/worker/training_step.hpp"
#include "suites/worker/watched_pass.hpp"
#include "suites/worker/weights/own_weights.hpp"
#include "suites/worker/worker_failure.hpp"

namespace reprobench {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

// Waits for the oldest steps until fewer than `limit` are under way.
void complete_steps(TrainingRun& run, std::size_t limit) {
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

void record_step(TrainingRun& run, std::int64_t step, StepOutcome& outcome) {
  StepMeasurement measured;
  measured.step = step;
  measured.learning_rate = run.state.learning_rate(step);
  measured.grad_norm = outcome.grad_norm;
  if (outcome.grad_norm) measured.events["clipped"] = outcome.is_clipped ? 1 : 0;
  measured.phases.data_wait_ns = outcome.data_wait_ns;
  if (outcome.exchanged) {
    measured.phases.exchange_ns = outcome.exchanged->exchange_ns;
    measured.phases.exchange_hidden_ns = outcome.exchanged->hidden_ns;
  }
  measured.loss_scale = outcome.loss_scale;
  if (outcome.loss_scale) measured.events["skipped"] = outcome.is_skipped ? 1 : 0;
  measured.samples = run.batches.micro_batch_size() * run.layout().of_rank();
  run.recorder.capture(std::move(measured), std::move(outcome.timer), outcome.outputs, *outcome.loss);
  // A replay writes the chain into its states, so it waits for each step.
  complete_steps(run, run.request.replay ? 1 : run.device.steps_in_flight());
}

void keep_checkpoint(TrainingRun& run, std::int64_t step) {
  complete_steps(run, 0);  // the chain up to here is part of it
  run.guard.around(StatePhase::checkpoint, [&] { run.checkpoints.write(step, run.recorder.chain()); });
}

// After the step in hand, and with a checkpoint where the run has some.
void stop_if_asked(TrainingRun& run, std::int64_t step) {
  if (!run.checkpoints.stops_if(take_stop_request())) return;
  complete_steps(run, 0);
  if (run.checkpoints.are_written() && !run.checkpoints.is_due(step)) keep_checkpoint(run, step);
  throw RunFailure("interrupted", "asked to stop after step " + std::to_string(step));
}

void run_steps(TrainingRun& run, Telemetry telemetry) {
  const std::int64_t first = run.request.replay ? first_step_of(run.request) : run.checkpoints.first_step();
  TrainingSteps steps(run, first);
  const std::int64_t last = last_step_of(run.request);
  for (std::int64_t step = first; step <= last; ++step) {
    run.fault_acts(FaultPhase::before_step, step);
    if (telemetry != Telemetry::off) run.recorder.before_step(step);
    run.replay.begin_step(step);
    StepOutcome outcome = steps.run(step);
    run.replay.end_step();
    if (step == first) {
      run.device.synchronize();
      run.result.start_to_first_step_ns = since_process_start_ns();
    }
    if (telemetry != Telemetry::off) record_step(run, step, outcome);
    run.replay.after_step(step, run.recorder.chain());
    if (run.checkpoints.is_due(step)) keep_checkpoint(run, step);
    if (step < last) stop_if_asked(run, step);
  }
  complete_steps(run, 0);
  run.device.synchronize();
  if (telemetry != Telemetry::off) run.recorder.finish();
}

std::optional<std::string> own_data_of(const WorkloadRequest& workload) {
  if (workload.data_sha256.empty()) return std::nullopt;
  return read_own_file(workload.data_file, workload.data_sha256);
}

std::optional<OwnWeights> own_weights_of(const WorkloadRequest& workload, const Model& model, const ModelPreset& preset,
                                         std::span<const Model* const> all) {
  if (workload.weights_sha256.empty()) return std::nullopt;
  return OwnWeights(workload, model, preset, all);
}

std::optional<DataUse> data_use_of(const BatchSource& batches) {
  const auto counts = batches.record_counts();
  if (!counts) return std::nullopt;
  return DataUse{counts->records, counts->samples, counts->cut};
}

// The most that the training took, before anything else takes memory.
void note_peak_memory(const ComputeDevice& device, CellResult& result) {
  const DeviceMemory memory = device.memory();
  result.peak_allocated_bytes = memory.peak_allocated_bytes;
  result.peak_reserved_bytes = memory.peak_reserved_bytes;
  const ResidentMemory resident = peak_resident_memory();
  result.peak_rss_bytes = resident.all_bytes;
  result.peak_anonymous_bytes = resident.anonymous_bytes;
}

// What is known of a run however it ended.
void close_record(const StepRecorder& recorder, TrainState& state, RankGroup* ranks, TraceWriter& trace,
                  CellResult& result) {
  if (ranks != nullptr && ranks->library() == "nccl") {
    ranks->take_log();
    result.nccl = nccl_facts_in(ranks->log());
  }
  result.optimizer_state_bytes = optimizer_state_bytes(state);
  state.note_model_state();
  result.model_state_peak_bytes = state.model_state_peak().all;
  result.model_state_device_peak_bytes = state.model_state_peak().on_device;
  result.model_state_host_peak_bytes = state.model_state_peak().on_host;
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
  const Settings settings = settings_of(knobs_of_rank(request));
  const Layout layout = layout_of(request, settings);
  const Model& model = model_named(tables.models, request.workload.model);
  const ModelPreset preset = with_schedule(preset_named(model, request.workload.preset), settings);
  const std::unique_ptr<ComputeDevice> device = open(request.device, device_options_of(settings));
  if (device->records_steps()) check_recorded_steps(request);
  result.fingerprint.device = fingerprint_of(*device);
  if (result.fingerprint.device) result.fingerprint.device_name = result.fingerprint.device->name;
  check_memory(model, preset, settings.precision, *device, layout.replicas);
  const std::optional<std::string> own_data = own_data_of(request.workload);
  std::optional<OwnWeights> own_weights = own_weights_of(request.workload, model, preset, tables.models);
  if (own_weights) result.weights = own_weights->use();
  TrainState state(model, preset, request.workload.steps, settings.seed, settings.precision, device->where(),
                   sharding_of(layout, settings), own_weights ? &*own_weights : nullptr, settings.optimizer_layout,
                   settings.offload);
  if (device->records_steps()) state.keep_step_numbers_on_device();
  LossScaler scaler(settings, state);
  BatchSource batches(model, preset, tables.data_sets, data_folder, settings.seed, request.workload.batch_size,
                      settings.precision, device->where(), layout, loader_settings_of(settings, last_step_of(request)),
                      own_data);
  if (own_data) result.data = data_use_of(batches);
  std::optional<Fault> fault;
  if (request.inject && !is_of_resuming(*request.inject)) fault.emplace(*request.inject, request, state, batches);

  const Digest workload = workload_digest(model, preset, request.workload, settings, state, batches);
  result.workload_digest = to_hex(workload);
  std::optional<RankGroup> ranks;
  if (layout.ranks > 1) ranks.emplace(request, folder);
  std::optional<ZeroShards> shards;
  if (state.sharding().is_on()) shards.emplace(*ranks, state);
  Checkpoints checkpoints(request, workload,
                          {model, preset, state, ranks ? &*ranks : nullptr, shards ? &*shards : nullptr, *device},
                          result);
  TraceWriter trace(folder / "trace.jsonl");
  trace.begin({request.cell_id, request.nonce, result.workload_digest, request.trace, trace.monotonic_us(),
               request.rank, loaded_torch_version(), checkpoints.resumed()});
  trace.write();
  ReplayRecorder replay(request, folder, settings.seed, workload, state, fault ? fault->in_operators() : nullptr);
  std::optional<OverlappedExchange> overlapped;
  if (settings.overlap && ranks) overlapped.emplace(*ranks, state, request.inject);
  std::optional<Replicas> replicas;  // of what a checkpoint may have put back
  if (layout.replicas > 1) replicas.emplace(layout.replicas, state, request.inject);
  GradientSum gradients(batches.layout(), ranks ? &*ranks : nullptr, replicas ? &*replicas : nullptr,
                        shards ? &*shards : nullptr, overlapped ? &*overlapped : nullptr, state);
  const Digest& chain_before = request.replay ? replay.chain_before() : checkpoints.chain_before();
  StepRecorder recorder(request.trace, request.workload.steps, chain_before, state, shards ? &*shards : nullptr,
                        replicas ? &*replicas : nullptr, batches, *device, trace);
  std::optional<GatheredParameters> gathered;
  if (state.sharding().shares_parameters()) {
    const double share = layout.accumulated == 1 ? 1.0 / layout.ranks : 0;  // else gradients are added up first
    gathered.emplace(*shards, state, share, [&](std::size_t i) {
      if (scaler.scales()) state.scale_gradient(i, 1 / scaler.scale());
      recorder.micro_batch_gradient(i, 0);
    });
  }
  const TensorGuard guard(state, device->where(), settings);
  TrainingRun run{request,
                  model,
                  preset,
                  settings,
                  state,
                  batches,
                  *device,
                  recorder,
                  replay,
                  checkpoints,
                  gradients,
                  shards ? &*shards : nullptr,
                  gathered ? &*gathered : nullptr,
                  overlapped ? &*overlapped : nullptr,
                  ranks ? &*ranks : nullptr,
                  replicas ? &*replicas : nullptr,
                  scaler,
                  guard,
                  fault ? &*fault : nullptr,
                  trace,
                  result};
  result.model_flops = model_flops_of(run);
  try {
    run_steps(run, telemetry);
    note_peak_memory(*device, result);
    if (request.weight_change && !own_weights)
      result.weight_change_rel = weight_change_rel(model, preset, settings.seed, state);
    if (measures_gemm_peak(request)) measure_gemm_peak(run, folder);
    // Last of all. Further repeats would say the same, and of a replay, or where the cost of recording is weighed,
    // nobody asks.
    if (request.repeat == 0 && !request.replay && telemetry == Telemetry::on) {
      result.implementations = implementations_of_last_step(run);
    }
  } catch (...) {
    // Before anything is destroyed: after a fault of the GPU that may end the process (last_words.hpp).
    result.failure = failure_of(std::current_exception(), result.steps_completed);
    if (result.peak_rss_bytes == 0) note_peak_memory(*device, result);
    close_record(recorder, state, ranks ? &*ranks : nullptr, trace, result);
    throw;
  }
  close_record(recorder, state, ranks ? &*ranks : nullptr, trace, result);
}

void request_stop() { stop_requested = 1; }

bool take_stop_request() {
  const bool asked = stop_requested != 0;
  stop_requested = 0;
  return asked;
}

}  // namespace reprobench

#include "suites/worker/train_loop.hpp"

#include <cmath>
#include <csignal>
#include <exception>
#include <utility>

#include <ATen/core/Tensor.h>

#include "matrix/base/number.hpp"
#include "suites/worker/gemm_peak.hpp"
#include "suites/worker/process_facts.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/state/state_memory.hpp"
#include "suites/worker/state/weight_change.hpp"
#include "suites/worker/training.hpp"
#include "suites/worker/training_step.hpp"
#include "suites/worker/watched_pass.hpp"
#include "suites/worker/worker_failure.hpp"

namespace reprobench {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

// Waits for the oldest steps until fewer than `limit` are under way.
void complete_steps(Training& run, std::size_t limit) {
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

void record_step(Training& run, std::int64_t step, StepOutcome& outcome) {
  StepMeasurement measured;
  measured.step = step;
  measured.block = block_of(run.request, step);
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
  complete_steps(run, run.request.replay ? 1 : run.plan.device->steps_in_flight());
}

void keep_checkpoint(Training& run, std::int64_t step) {
  complete_steps(run, 0);  // the chain up to here is part of it
  run.guard.around(StatePhase::checkpoint, [&] { run.checkpoints.write(step, run.recorder.chain()); });
}

// After the step in hand, and with a checkpoint where the run has some.
void stop_if_asked(Training& run, std::int64_t step) {
  if (!run.checkpoints.stops_if(take_stop_request())) return;
  complete_steps(run, 0);
  if (run.checkpoints.are_written() && !run.checkpoints.is_due(step)) keep_checkpoint(run, step);
  throw RunFailure("interrupted", "asked to stop after step " + std::to_string(step));
}

// Whoever gives the turns sees by the trace that the one before is over.
void wait_for_turn(Training& run, std::int64_t step) {
  if (!run.turns.must_wait(step)) return;
  complete_steps(run, 0);
  run.trace.write();
  run.turns.until_allowed(step, [] { return stop_requested != 0; });
  if (run.turns.must_wait(step)) throw RunFailure("interrupted", "asked to stop before step " + std::to_string(step));
}

void run_steps(Training& run, Telemetry telemetry) {
  const std::int64_t first = run.first_step();
  TrainingSteps steps(run, first);
  const std::int64_t last = last_step_of(run.request);
  for (std::int64_t step = first; step <= last; ++step) {
    wait_for_turn(run, step);
    run.fault.act(FaultPhase::before_step, step);
    if (telemetry != Telemetry::off) run.recorder.before_step(step);
    run.replay.begin_step(step);
    StepOutcome outcome = steps.run(step);
    run.memory.note();
    run.replay.end_step();
    if (step == first) {
      run.plan.device->synchronize();
      run.result.start_to_first_step_ns = since_process_start_ns() - run.turns.waited().time_ns;
    }
    if (telemetry != Telemetry::off) record_step(run, step, outcome);
    run.replay.after_step(step, run.recorder.chain());
    if (run.checkpoints.is_due(step)) keep_checkpoint(run, step);
    if (step < last) stop_if_asked(run, step);
  }
  complete_steps(run, 0);
  run.plan.device->synchronize();
  if (telemetry != Telemetry::off) run.recorder.finish();
}

// The most that the training took, before anything else takes memory.
void note_peak_memory(Training& run) {
  const DeviceMemory memory = run.plan.device->memory();
  run.result.peak_allocated_bytes = memory.peak_allocated_bytes;
  run.result.peak_reserved_bytes = memory.peak_reserved_bytes;
  const ResidentMemory resident = run.memory.peak();
  run.result.peak_rss_bytes = resident.all_bytes;
  run.result.peak_anonymous_bytes = resident.anonymous_bytes;
}

// Once the steps are over, what else the request asks for; it takes memory and time of its own.
void measure_afterwards(Training& run, Telemetry telemetry) {
  const CellRequest& request = run.request;
  if (request.weight_change && !run.plan.own_weights) {
    run.result.weight_change_rel =
        weight_change_rel(run.plan.model, run.plan.preset, run.plan.settings.seed, run.state);
  }
  if (measures_gemm_peak(request)) measure_gemm_peak(run);
  // Last of all. Further repeats would say the same, and of a replay, or where the cost of recording is weighed,
  // nobody asks.
  if (request.repeat == 0 && !request.replay && telemetry == Telemetry::on) {
    run.result.implementations = implementations_of_last_step(run);
  }
}

// What is known of a run however it ended.
void close_record(Training& run) {
  CellResult& result = run.result;
  run.parallelism->note_library(result);
  result.optimizer_state_bytes = optimizer_state_bytes(run.state);
  run.state.note_model_state();
  result.model_state_peak_bytes = run.state.model_state_peak().all;
  result.model_state_device_peak_bytes = run.state.model_state_peak().on_device;
  result.model_state_host_peak_bytes = run.state.model_state_peak().on_host;
  run.trace.write();
  if (run.request.turn_steps > 0) result.turns_wait = run.turns.waited();
  result.chain = to_hex(run.recorder.chain());
  result.trace_lines = run.trace.lines();
}

}  // namespace

void run_training(const CellRequest& request, const std::filesystem::path& folder,
                  const std::filesystem::path& data_folder, CellResult& result, Telemetry telemetry, OpenDevice open,
                  const WorkloadTables& tables) {
  Training training(request, folder, data_folder, result, open, tables);
  try {
    run_steps(training, telemetry);
    note_peak_memory(training);
    measure_afterwards(training, telemetry);
  } catch (...) {
    // Before anything is destroyed: after a fault of the GPU that may end the process (last_words.hpp).
    result.failure = failure_of(std::current_exception(), result.steps_completed);
    if (result.peak_rss_bytes == 0) note_peak_memory(training);
    close_record(training);
    throw;
  }
  close_record(training);
}

void request_stop() { stop_requested = 1; }

bool take_stop_request() {
  const bool asked = stop_requested != 0;
  stop_requested = 0;
  return asked;
}

}  // namespace reprobench

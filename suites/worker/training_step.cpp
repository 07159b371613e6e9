#include "suites/worker/training_step.hpp"

#include <algorithm>

#include <ATen/core/Tensor.h>

#include "suites/worker/gradient_norm.hpp"
#include "suites/worker/knobs.hpp"

namespace reprobench {
namespace {

// LibTorch chooses algorithms and allocates workspaces in the first steps, which a recording cannot hold.
constexpr std::int64_t kStepsBeforeRecording = 3;

// A loss is summed up in fp32 or wider.
Outputs widened(Outputs outputs) {
  for (at::Tensor& output : outputs) {
    const at::ScalarType type = output.scalar_type();
    if (type == at::kBFloat16 || type == at::kHalf) output = output.to(at::kFloat);
  }
  return outputs;
}

}  // namespace

StepOutcome::StepOutcome() : loss(std::make_unique<at::Tensor>()) {}
StepOutcome::~StepOutcome() = default;
StepOutcome::StepOutcome(StepOutcome&& from) noexcept = default;

TrainingSteps::TrainingSteps(const TrainingRun& run, std::int64_t first_step)
    : run_(run), first_step_(first_step), context_(run) {}
TrainingSteps::~TrainingSteps() = default;

StepOutcome TrainingSteps::run(std::int64_t step) {
  const bool is_recorded = run_.device.records_steps() && step - first_step_ >= kStepsBeforeRecording;
  return is_recorded ? launch_recorded(step) : run_operators(step);
}

// Forward pass and loss.
void TrainingSteps::forward(StepOutcome& outcome) {
  run_.replay.enter_pass("forward");
  run_.pass([&] {
    const AutocastScope autocast(run_.precision, run_.device.where());
    outcome.outputs = run_.model.forward(context_.batch(), context_);
  });
  context_.check_blocks();
  if (run_.fault != nullptr) run_.fault->check_forward();
  *outcome.loss = run_.model.loss(widened(outcome.outputs), context_.batch());
}

void TrainingSteps::backward(std::int64_t step, StepOutcome& outcome) {
  const double scale = run_.scaler.scales() ? run_.scaler.scale() : 1;
  run_.backward_pass(step, 1 / scale,
                     [&] { run_.scaler.scales() ? outcome.loss->mul(scale).backward() : outcome.loss->backward(); });
  if (!run_.scaler.scales()) return;
  const bool was_unscaled = run_.gathered != nullptr && run_.gathered->reduces_at_once();
  if (!was_unscaled) run_.guard.around(StatePhase::unscale, [&] { run_.state.scale_gradients(1 / scale); });
}

// All ranks come to the same, so that they go on from equal parameters.
void TrainingSteps::judge_gradients(StepOutcome& outcome) {
  if (!run_.scaler.is_dynamic()) return;
  outcome.loss_scale = run_.scaler.scale();
  outcome.is_skipped = some_rank_says(!are_gradients_finite(run_.state), run_.ranks);
  if (run_.replay.updates()) run_.scaler.update(outcome.is_skipped);
}

// From the gradients to the next step's parameters, on every rank.
void TrainingSteps::update(std::int64_t step, StepOutcome& outcome) {
  run_.guard.check(PhaseSide::after, StatePhase::gradients);
  run_.replay.enter_pass("optimizer");
  run_.fault_acts(FaultPhase::before_update, step);
  judge_gradients(outcome);
  if (run_.max_grad_norm > 0) {
    run_.guard.around(StatePhase::clip, [&] {
      outcome.grad_norm = gradient_norm(run_.state, run_.shards);
      outcome.is_clipped = !outcome.is_skipped && clip_gradients(run_.state, *outcome.grad_norm, run_.max_grad_norm);
    });
  }
  run_.guard.around(StatePhase::optimizer, [&] {
    const bool updates = run_.replay.updates() && !outcome.is_skipped;
    if (updates && !run_.fault_acts(FaultPhase::instead_of_update, step)) run_.state.update(step);
  });
  run_.fault_acts(FaultPhase::after_update, step);
  outcome.timer->mark(StepMark::updated);
  if (run_.shards == nullptr || run_.gathered != nullptr) return;
  run_.guard.around(StatePhase::gather, [&] { run_.shards->gather_parameters(); });
  outcome.timer->mark(StepMark::reduced);
}

// Gradients of the step before are dropped in the data phase.
StepOutcome TrainingSteps::run_operators(std::int64_t step) {
  StepOutcome outcome;
  outcome.timer = run_.device.start_step();
  StepTimer& timer = *outcome.timer;
  timer.mark(StepMark::begin);
  run_.state.clear_gradients();
  run_.guard.check(PhaseSide::before, StatePhase::gradients);
  run_.batches.load(run_.checkpoints.data_step(step));
  outcome.data_wait_ns = run_.batches.waited_ns();
  run_.fault_acts(FaultPhase::after_load, step);
  timer.mark(StepMark::loaded);
  for (std::int64_t number = 0; number < run_.layout().accumulated; ++number) {
    if (number > 0) run_.state.clear_gradients();
    context_.enter_micro_batch(number);
    forward(outcome);
    timer.mark(StepMark::forwarded);
    run_.replay.enter_pass("backward");
    backward(step, outcome);
    if (number == 0) run_.fault_acts(FaultPhase::after_backward, step);
    timer.mark(StepMark::differentiated);
    if (run_.layout().is_whole()) break;
    run_.state.note_model_state();
    run_.recorder.micro_batch_gradients(number);
    run_.gradients.add(*outcome.loss);
    timer.mark(StepMark::reduced);
  }
  if (!run_.layout().is_whole()) {
    *outcome.loss = run_.gradients.finish();
    outcome.exchanged = run_.gradients.overlapped();
    timer.mark(StepMark::reduced);
  }
  update(step, outcome);
  return outcome;
}

// A step recorded once and launched whole. It has no phases inside: all of its time is `forward`.
StepOutcome TrainingSteps::launch_recorded(std::int64_t step) {
  StepOutcome outcome;
  outcome.timer = run_.device.start_step();
  outcome.timer->mark(StepMark::begin);
  run_.batches.load(run_.checkpoints.data_step(step));
  outcome.data_wait_ns = run_.batches.waited_ns();
  run_.state.begin_update(step);
  outcome.timer->mark(StepMark::loaded);
  if (work_ == nullptr) {
    work_ = run_.device.record([this, step] {
      run_.state.clear_gradients();
      forward(recorded_);
      backward(step, recorded_);
      run_.state.apply_update();
    });
  }
  work_->replay();
  for (const StepMark mark : {StepMark::forwarded, StepMark::differentiated, StepMark::updated}) {
    outcome.timer->mark(mark);
  }
  outcome.outputs = recorded_.outputs;
  *outcome.loss = *recorded_.loss;
  return outcome;
}

}  // namespace reprobench

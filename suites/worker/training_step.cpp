#include "suites/worker/training_step.hpp"

#include <algorithm>
#include <utility>

#include <ATen/core/Tensor.h>

#include "suites/worker/knobs/knobs.hpp"
#include "suites/worker/state/gradient_norm.hpp"

namespace reprobench {
namespace {

// LibTorch chooses algorithms and allocates workspaces in the first steps, which a recording cannot hold.
constexpr std::int64_t kStepsBeforeRecording = 3;

}  // namespace

Outputs widened(Outputs outputs) {
  for (at::Tensor& output : outputs) {
    const at::ScalarType type = output.scalar_type();
    if (type == at::kBFloat16 || type == at::kHalf) output = output.to(at::kFloat);
  }
  return outputs;
}

StepOutcome::StepOutcome() : loss(std::make_unique<at::Tensor>()) {}
StepOutcome::~StepOutcome() = default;
StepOutcome::StepOutcome(StepOutcome&& from) noexcept = default;

// What a replica works with and makes; of the first that is context_ and the step's outcome.
struct TrainingSteps::OtherReplica {
  LoopContext context;
  Outputs outputs = {};
  at::Tensor loss = {};
};

TrainingSteps::TrainingSteps(const TrainingRun& run, std::int64_t first_step)
    : run_(run), first_step_(first_step), context_(run) {
  for (int replica = 1; replica < run.layout().replicas; ++replica) {
    others_.push_back(std::unique_ptr<OtherReplica>(new OtherReplica{LoopContext(run, replica)}));
  }
}
TrainingSteps::~TrainingSteps() = default;

StepOutcome TrainingSteps::run(std::int64_t step) {
  const bool is_recorded = run_.device.records_steps() && step - first_step_ >= kStepsBeforeRecording;
  return is_recorded ? launch_recorded(step) : run_operators(step);
}

void TrainingSteps::enter_round(std::int64_t round) {
  context_.enter_round(round);
  for (const auto& other : others_) other->context.enter_round(round);
}

// Forward pass and loss.
void TrainingSteps::forward(StepOutcome& outcome) {
  run_.replay.enter_pass("forward");
  run_.at_once([&](int replica) {
    if (replica == 0) return forward_of(context_, outcome.outputs, *outcome.loss);
    OtherReplica& other = *others_[static_cast<std::size_t>(replica - 1)];
    forward_of(other.context, other.outputs, other.loss);
  });
  context_.check_blocks();
  if (run_.fault != nullptr) run_.fault->check_forward();
  if (!others_.empty()) outcome.outputs = std::move(others_.back()->outputs);  // of the last micro-batch
}

void TrainingSteps::forward_of(LoopContext& context, Outputs& outputs, at::Tensor& loss) {
  run_.pass([&] {
    const auto casts = others_.empty() ? AutocastScope::Casts::dropped : AutocastScope::Casts::kept;
    const AutocastScope autocast(run_.settings.precision, run_.device.where(), casts);
    outputs = run_.model.forward(context.batch(), context);
  });
  loss = run_.model.loss(widened(outputs), context.batch());
}

void TrainingSteps::backward(std::int64_t step, StepOutcome& outcome) {
  const double scale = run_.scaler.scales() ? run_.scaler.scale() : 1;
  run_.backward_pass(step, 1 / scale, [&] {
    run_.at_once([&](int replica) {
      if (replica == 0) return backward_of(*outcome.loss);
      backward_of(others_[static_cast<std::size_t>(replica - 1)]->loss);
    });
  });
  if (!run_.scaler.scales()) return;
  const bool was_unscaled = run_.gathered != nullptr && run_.gathered->reduces_at_once();
  if (!was_unscaled) run_.guard.around(StatePhase::unscale, [&] { run_.state.scale_gradients(1 / scale); });
  if (run_.replicas != nullptr) run_.replicas->scale_gradients(1 / scale);
}

void TrainingSteps::backward_of(const at::Tensor& loss) const {
  if (!others_.empty()) AutocastScope::drop_casts();  // every replica has left its scope
  run_.scaler.scales() ? loss.mul(run_.scaler.scale()).backward() : loss.backward();
}

// Of the micro-batches that have just been differentiated.
void TrainingSteps::add_gradients(const StepOutcome& outcome) {
  run_.gradients.add(*outcome.loss);
  for (std::size_t i = 0; i < others_.size(); ++i) {
    run_.gradients.add(std::exchange(others_[i]->loss, at::Tensor()), static_cast<int>(i) + 1);
  }
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
  if (run_.settings.max_grad_norm > 0) {
    run_.guard.around(StatePhase::clip, [&] {
      outcome.grad_norm = gradient_norm(run_.state, run_.shards);
      outcome.is_clipped =
          !outcome.is_skipped && clip_gradients(run_.state, *outcome.grad_norm, run_.settings.max_grad_norm);
    });
  }
  run_.guard.around(StatePhase::optimizer, [&] {
    const bool updates = run_.replay.updates() && !outcome.is_skipped;
    if (updates && !run_.fault_acts(FaultPhase::instead_of_update, step)) run_.state.update(step);
  });
  run_.fault_acts(FaultPhase::after_update, step);
  outcome.timer->mark(StepMark::updated);
  if (run_.replicas != nullptr) {
    run_.replicas->take_weights();
    outcome.timer->mark(StepMark::reduced);
  }
  if (run_.shards == nullptr || run_.gathered != nullptr) return;
  run_.guard.around(StatePhase::gather, [&] { run_.shards->gather_parameters(); });
  outcome.timer->mark(StepMark::reduced);
}

void TrainingSteps::clear_gradients() {
  run_.state.clear_gradients();
  if (run_.replicas != nullptr) run_.replicas->clear_gradients();
}

// Gradients of the step before are dropped in the data phase.
StepOutcome TrainingSteps::run_operators(std::int64_t step) {
  StepOutcome outcome;
  outcome.timer = run_.device.start_step();
  StepTimer& timer = *outcome.timer;
  timer.mark(StepMark::begin);
  clear_gradients();
  run_.guard.check(PhaseSide::before, StatePhase::gradients);
  run_.batches.load(run_.checkpoints.data_step(step));
  outcome.data_wait_ns = run_.batches.waited_ns();
  run_.fault_acts(FaultPhase::after_load, step);
  timer.mark(StepMark::loaded);
  if (run_.replicas != nullptr) run_.replicas->begin_step(step);
  for (std::int64_t round = 0; round < run_.layout().accumulated; ++round) {
    if (round > 0) clear_gradients();
    enter_round(round);
    forward(outcome);
    timer.mark(StepMark::forwarded);
    run_.replay.enter_pass("backward");
    backward(step, outcome);
    if (round == 0) run_.fault_acts(FaultPhase::after_backward, step);
    timer.mark(StepMark::differentiated);
    if (run_.layout().is_whole()) break;
    run_.state.note_model_state(run_.replicas == nullptr ? 0 : run_.replicas->bytes());
    run_.recorder.micro_batch_gradients(round);
    add_gradients(outcome);
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

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

// What a replica works with and makes.
struct TrainingSteps::Replica {
  LoopContext context;
  Outputs outputs = {};  // of its last micro-batch
};

// The step in hand, as the layout works through it.
class TrainingSteps::Passes final : public StepPasses {
 public:
  Passes(TrainingSteps& steps, std::int64_t step, StepTimer& timer) : steps_(steps), step_(step), timer_(timer) {}

  void forward(std::int64_t round) override {
    steps_.forward(round);
    timer_.mark(StepMark::forwarded);
    steps_.run_.memory.note();
  }
  void backward(std::int64_t round) override {
    steps_.run_.replay.enter_pass("backward");
    steps_.backward(round);
    if (round == 0) steps_.run_.fault.act(FaultPhase::after_backward, step_);
    timer_.mark(StepMark::differentiated);
  }
  at::Tensor take_loss(int replica, std::int64_t round) override {
    return std::exchange(steps_.loss(replica, round), at::Tensor());
  }
  void show_gradients(std::int64_t round) override { steps_.run_.recorder.micro_batch_gradients(round); }
  void show_gradient(std::size_t parameter) override { steps_.run_.recorder.micro_batch_gradient(parameter, 0); }
  void end_exchange() override { timer_.mark(StepMark::reduced); }

 private:
  TrainingSteps& steps_;
  std::int64_t step_;
  StepTimer& timer_;
};

TrainingSteps::TrainingSteps(Training& run, std::int64_t first_step)
    : run_(run), first_step_(first_step), losses_(static_cast<std::size_t>(run.layout().of_rank())) {
  for (int replica = 0; replica < run.layout().replicas; ++replica) {
    replicas_.push_back(std::unique_ptr<Replica>(new Replica{LoopContext(run, replica)}));
  }
}
TrainingSteps::~TrainingSteps() = default;

at::Tensor& TrainingSteps::loss(int replica, std::int64_t round) {
  return losses_[static_cast<std::size_t>(run_.layout().number(replica, round))];
}

StepOutcome TrainingSteps::run(std::int64_t step) {
  const bool is_recorded = run_.plan.device->records_steps() && step - first_step_ >= kStepsBeforeRecording;
  return is_recorded ? launch_recorded(step) : run_operators(step);
}

// Forward pass and loss of every replica's micro-batch of the round.
void TrainingSteps::forward(std::int64_t round) {
  for (const auto& replica : replicas_) replica->context.enter_round(round);
  run_.replay.enter_pass("forward");
  run_.parallelism->forward([&](int replica) { forward_of(replica, round); });
  replicas_.front()->context.check_blocks();
}

void TrainingSteps::forward_of(int replica, std::int64_t round) {
  Replica& own = *replicas_[static_cast<std::size_t>(replica)];
  const Batch& batch = own.context.batch();
  {
    const auto casts = replicas_.size() == 1 ? AutocastScope::Casts::dropped : AutocastScope::Casts::kept;
    const AutocastScope autocast(run_.plan.settings.precision, run_.plan.device->where(), casts);
    own.outputs = run_.plan.model.forward(batch, own.context);
  }
  loss(replica, round) = run_.plan.model.loss(widened(own.outputs), batch);
}

void TrainingSteps::backward(std::int64_t round) {
  const double unscale = run_.scaler.scales() ? 1 / run_.scaler.scale() : 1;
  run_.parallelism->backward(unscale, [&](int replica) { backward_of(loss(replica, round)); });
  if (!run_.scaler.scales()) return;
  run_.guard.around(StatePhase::unscale, [&] { run_.parallelism->unscale_gradients(unscale); });
}

void TrainingSteps::backward_of(const at::Tensor& loss) const {
  if (replicas_.size() > 1) AutocastScope::drop_casts();  // every replica has left its scope
  run_.scaler.scales() ? loss.mul(run_.scaler.scale()).backward() : loss.backward();
}

// All ranks come to the same, so that they go on from equal parameters.
void TrainingSteps::judge_gradients(StepOutcome& outcome) {
  if (!run_.scaler.is_dynamic()) return;
  outcome.loss_scale = run_.scaler.scale();
  outcome.is_skipped = run_.parallelism->some_rank_says(!are_gradients_finite(run_.state));
  if (run_.replay.updates()) run_.scaler.update(outcome.is_skipped);
}

// From the gradients to the next step's parameters, on every rank.
void TrainingSteps::update(std::int64_t step, StepOutcome& outcome) {
  run_.guard.check(PhaseSide::after, StatePhase::gradients);
  run_.replay.enter_pass("optimizer");
  run_.fault.act(FaultPhase::before_update, step);
  judge_gradients(outcome);
  if (const double most = run_.plan.settings.max_grad_norm; most > 0) {
    run_.guard.around(StatePhase::clip, [&] {
      outcome.grad_norm = run_.parallelism->gradient_norm();
      outcome.is_clipped = !outcome.is_skipped && clip_gradients(run_.state, *outcome.grad_norm, most);
    });
  }
  run_.guard.around(StatePhase::optimizer, [&] {
    const bool updates = run_.replay.updates() && !outcome.is_skipped;
    if (updates && !run_.fault.act(FaultPhase::instead_of_update, step)) run_.state.update(step);
  });
  run_.fault.act(FaultPhase::after_update, step);
  run_.fault.check_is_met();
  outcome.timer->mark(StepMark::updated);
  if (run_.parallelism->spread_update(run_.guard)) outcome.timer->mark(StepMark::reduced);
}

// Gradients of the step before are dropped in the data phase.
StepOutcome TrainingSteps::run_operators(std::int64_t step) {
  StepOutcome outcome;
  outcome.timer = run_.plan.device->start_step();
  StepTimer& timer = *outcome.timer;
  timer.mark(StepMark::begin);
  run_.parallelism->clear_gradients();
  run_.guard.check(PhaseSide::before, StatePhase::gradients);
  run_.batches.load(run_.checkpoints.data_step(step));
  outcome.data_wait_ns = run_.batches.waited_ns();
  run_.fault.act(FaultPhase::after_load, step);
  timer.mark(StepMark::loaded);
  run_.parallelism->begin_step(step);
  Passes passes(*this, step, timer);
  *outcome.loss = run_.parallelism->run(passes);
  outcome.exchanged = run_.parallelism->exchange_times();
  outcome.outputs = std::move(replicas_.back()->outputs);  // of the last micro-batch
  update(step, outcome);
  return outcome;
}

// A step recorded once and launched whole. It has no phases inside: all of its time is `forward`.
StepOutcome TrainingSteps::launch_recorded(std::int64_t step) {
  StepOutcome outcome;
  outcome.timer = run_.plan.device->start_step();
  outcome.timer->mark(StepMark::begin);
  run_.batches.load(run_.checkpoints.data_step(step));
  outcome.data_wait_ns = run_.batches.waited_ns();
  run_.state.begin_update(step);
  outcome.timer->mark(StepMark::loaded);
  if (work_ == nullptr) {
    work_ = run_.plan.device->record([this] {
      run_.state.clear_gradients();
      forward(0);
      backward(0);
      run_.state.apply_update();
      run_.fault.check_is_met();
    });
  }
  work_->replay();
  for (const StepMark mark : {StepMark::forwarded, StepMark::differentiated, StepMark::updated}) {
    outcome.timer->mark(mark);
  }
  outcome.outputs = replicas_.front()->outputs;
  *outcome.loss = loss(0, 0);
  return outcome;
}

}  // namespace reprobench

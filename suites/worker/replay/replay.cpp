#include "suites/worker/replay/replay.hpp"

#include <algorithm>
#include <cstring>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include "models/initial_values.hpp"
#include "suites/worker/record/tensor_file.hpp"
#include "suites/worker/replay/state_snapshot.hpp"

namespace reprobench {
namespace {

constexpr float kDrawnGradient = 1e-3F;  // about that of a network in training

void draw_gradient(std::uint64_t seed, const std::string& name, const at::Tensor& parameter) {
  const auto values =
      initial_values(seed, "gradient/" + name, static_cast<std::size_t>(parameter.numel()), kDrawnGradient);
  at::Tensor gradient = at::empty(parameter.sizes(), at::kFloat);
  std::memcpy(gradient.data_ptr(), values.data(), gradient.nbytes());
  parameter.mutable_grad() = gradient.to(parameter.options());
}

bool captures_in(const Replay& replay, std::int64_t step) {
  const auto sites = replay.captures();
  return std::any_of(sites.begin(), sites.end(), [step](const OperatorSite& site) { return site.step == step; });
}

}  // namespace

ReplayRecorder::ReplayRecorder(const CellRequest& request, const std::filesystem::path& folder, std::uint64_t seed,
                               const Digest& workload, TrainState& state, OperatorFault* fault)
    : request_(request),
      folder_(folder),
      seed_(seed),
      workload_(workload),
      state_(state),
      chain_before_(workload),
      fault_(fault) {
  if (!request.replay) return;
  const Replay& replay = *request.replay;
  if (!replay.from_state.empty()) {
    chain_before_ = read_snapshot(replay.from_state, state, {replay.first_step - 1, seed, workload, {}});
  }
  if (replay.operators_from > 0 || replay.capture) {
    operators_ = std::make_unique<OperatorTrace>(folder, replay);
  }
  if (replay.hold_state) {
    for (const StateTensor& tensor : state.tensors()) {
      if (tensor.role == TensorRole::buffer) held_buffers_.push_back(tensor.value->clone());
    }
  }
  write_snapshot_if_asked(replay.first_step - 1, chain_before_);
}

ReplayRecorder::~ReplayRecorder() = default;

bool ReplayRecorder::updates() const { return !request_.replay || !request_.replay->hold_state; }

void ReplayRecorder::begin_step(std::int64_t step) {
  std::vector<OperatorListener*> listeners;
  if (fault_ != nullptr) listeners.push_back(fault_);
  if (operators_ && (request_.replay->records_operators(step) || captures_in(*request_.replay, step))) {
    recording_ = operators_.get();
    recording_->begin_step(step);
    listeners.push_back(recording_);
  }
  if (!listeners.empty()) hook_ = std::make_unique<OperatorHook>(std::move(listeners));
}

void ReplayRecorder::enter_pass(const char* pass) {
  if (recording_ != nullptr) recording_->enter_pass(pass);
}

void ReplayRecorder::end_module(std::string_view name) {
  if (recording_ != nullptr) recording_->end_module(std::string(name));
}

void ReplayRecorder::end_step() {
  if (!hook_) return;
  OperatorHook::rethrow_failure();
  hook_.reset();
  if (recording_ != nullptr) recording_->end_step();
  recording_ = nullptr;
}

void ReplayRecorder::after_step(std::int64_t step, const Digest& chain) {
  if (!request_.replay) return;
  if (request_.replay->hold_state) {
    write_gradients(step);
    put_buffers_back();
  }
  write_snapshot_if_asked(step, chain);
}

void ReplayRecorder::write_snapshot_if_asked(std::int64_t steps_done, const Digest& chain) const {
  const auto& wanted = request_.replay->snapshots_after;
  if (std::find(wanted.begin(), wanted.end(), steps_done) == wanted.end()) return;
  write_snapshot(folder_ / snapshot_file(steps_done), state_, {steps_done, seed_, workload_, chain});
}

// A forward pass changes them although nothing is updated.
void ReplayRecorder::put_buffers_back() const {
  std::size_t next = 0;
  for (const StateTensor& tensor : state_.tensors()) {
    if (tensor.role == TensorRole::buffer) tensor.value->copy_(held_buffers_[next++]);
  }
}

// The first step's update is part of its file.
void ReplayRecorder::write_gradients(std::int64_t step) const {
  NamedTensors tensors;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (state_.gradient(i).defined()) tensors.emplace_back("gradient/" + state_.name(i), state_.gradient(i));
  }
  if (step == request_.replay->first_step) add_updates(step, tensors);
  write_tensors(folder_ / gradients_file(step), tensors, {{"step", std::to_string(step)}});
}

// What the optimizer makes of this state and of gradients from our own generator. They are the same on every side, so
// an update tells of the optimizer alone: with each side's own gradients Adam's first steps, which divide a gradient by
// its size, would turn a rounding of an element near zero into a difference as large as the update.
// The state is put back afterwards, bit for bit.
void ReplayRecorder::add_updates(std::int64_t step, NamedTensors& tensors) const {
  const c10::NoGradGuard no_grad;
  std::vector<at::Tensor> before;
  for (const StateTensor& tensor : state_.tensors()) before.push_back(tensor.value->clone());
  const OptimizerNumbers numbers = state_.optimizer().numbers();
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (!state_.is_frozen(i)) draw_gradient(seed_, state_.name(i), state_.parameter(i));
  }
  state_.update(step);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const StateTensor& tensor = state_.tensors()[i];
    const bool is_trained = tensor.role == TensorRole::parameter && !state_.is_frozen(*state_.index_of(tensor.name));
    if (is_trained) tensors.emplace_back("update/" + tensor.name, *tensor.value - before[i]);
    tensor.value->copy_(before[i]);
  }
  state_.parameters_were_written();
  state_.optimizer().set_numbers(numbers);
}

}  // namespace reprobench

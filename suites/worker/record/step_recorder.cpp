#include "suites/worker/record/step_recorder.hpp"

#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/ne.h>

#include "kernels/sketch/sketch.hpp"
#include "suites/worker/process_facts.hpp"
#include "suites/worker/record/host_tensor.hpp"
#include "suites/worker/record/operator_hook.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/state/whole_state.hpp"

namespace reprobench {

struct StepRecorder::Tapped {
  std::string name;
  at::Tensor value;
  TensorRole role;  // forward_output, mask or choice
};

struct StepRecorder::Gradient {
  std::string name;
  at::Tensor value;
};

// What a replica's passes showed, in their order.
struct StepRecorder::Shown {
  std::vector<Tapped> taps;
  std::vector<Gradient> gradients;

  void clear() {
    taps.clear();
    gradients.clear();
  }
};

namespace {

std::vector<std::int64_t> positions_of_ones(const at::Tensor& mask) {
  const at::Tensor here = on_host(mask.scalar_type() == at::kBool ? mask : mask.ne(0));
  const auto* set = here.data_ptr<bool>();
  std::vector<std::int64_t> positions(static_cast<std::size_t>(here.numel()));
  std::size_t found = 0;  // written each time and kept where it is one: a branch would be wrong half of the time
  for (std::int64_t i = 0; i < here.numel(); ++i) {
    positions[found] = i;
    found += set[i] ? 1 : 0;
  }
  positions.resize(found);
  return positions;
}

}  // namespace

StepRecorder::StepRecorder(TraceLevel level, std::int64_t steps, const Digest& workload, const TrainState& state,
                           Parallelism& parallelism, const BatchSource& batches, ComputeDevice& device,
                           TraceWriter& trace)
    : level_(level),
      steps_(steps),
      state_(state),
      parallelism_(parallelism),
      batches_(batches),
      device_(device),
      trace_(trace),
      chain_(workload),
      shown_(static_cast<std::size_t>(batches.layout().replicas)) {}

StepRecorder::~StepRecorder() = default;

void StepRecorder::before_step(std::int64_t step) {
  if (!digests_tensors(level_)) return;
  with_sketches_ = is_sketched(step);
  tensors_ = {step, false, {}};
  for (Shown& shown : shown_) shown.clear();
  of_micro_batches_.clear();
  add_state(TensorRole::parameter);
  add_replicas();
}

void StepRecorder::tap(const at::Tensor& value, std::string_view name, int replica) {
  if (!digests_tensors(level_)) return;
  const OperatorPause pause;
  Shown& shown = shown_[static_cast<std::size_t>(replica)];
  shown.taps.push_back({std::string(name), value.detach(), TensorRole::forward_output});
  if (!value.requires_grad()) return;  // made of frozen parameters alone
  value.register_hook([&shown, name = std::string(name)](const at::Tensor& gradient) {
    const OperatorPause in_hook;
    shown.gradients.push_back({name, gradient.detach()});
  });
}

void StepRecorder::mask(const at::Tensor& mask, std::string_view event, int replica) {
  if (!digests_tensors(level_)) return;
  const OperatorPause pause;
  shown_[static_cast<std::size_t>(replica)].taps.push_back({std::string(event), mask.detach(), TensorRole::mask});
}

void StepRecorder::choice(const at::Tensor& scores, std::string_view event, int replica) {
  if (!digests_tensors(level_)) return;
  const OperatorPause pause;
  shown_[static_cast<std::size_t>(replica)].taps.push_back({std::string(event), scores.detach(), TensorRole::choice});
}

void StepRecorder::micro_batch_gradients(std::int64_t round) {
  if (!digests_tensors(level_)) return;
  const Layout& layout = batches_.layout();
  for (int replica = 0; replica < layout.replicas; ++replica) {
    for (std::size_t i = 0; i < state_.size(); ++i) {
      const at::Tensor& gradient = parallelism_.gradient(replica, i);
      if (!gradient.defined()) continue;
      of_micro_batches_.push_back({layout.named(state_.name(i), layout.number(replica, round)), gradient});
    }
  }
}

void StepRecorder::micro_batch_gradient(std::size_t parameter, std::int64_t number) {
  if (!digests_tensors(level_)) return;
  of_micro_batches_.push_back({batches_.layout().named(state_.name(parameter), number), state_.gradient(parameter)});
}

bool StepRecorder::measures_state(std::int64_t step) const {
  return digests_tensors(level_) || digests_state(step) || step == steps_;
}

bool StepRecorder::is_sketched(std::int64_t step) const { return is_log_spaced(step) || step == steps_; }

void StepRecorder::capture(StepMeasurement measured, std::unique_ptr<StepTimer> timer,
                           std::span<const at::Tensor> outputs, const at::Tensor& loss) {
  if (measures_state(measured.step)) {
    if (!measured.grad_norm) measured.grad_norm = parallelism_.gradient_norm();
    const ResidentMemory resident = resident_memory();
    measured.rss_bytes = resident.all_bytes;
    measured.anonymous_bytes = resident.anonymous_bytes;
    measured.allocated_bytes = device_.memory().allocated_bytes;
  }
  Captured captured{std::move(measured), std::move(timer), nullptr, outputs.size(), {}, {}};
  if (digests_tensors(level_)) {
    collect_tensors(captured.measured, loss);
    captured.readback = device_.read_back({}, loss);
    captured.tensors = std::move(tensors_);
  } else {
    captured.readback = device_.read_back(step_tensors(captured.measured.step, outputs, loss), loss);
    captured.samples = block_digest(std::as_bytes(batches_.samples()));
  }
  captured_.push_back(std::move(captured));
}

StepMeasurement StepRecorder::complete_oldest() {
  Captured captured = std::move(captured_.front());
  captured_.pop_front();
  StepMeasurement& measured = captured.measured;
  const StepTimes times = captured.timer->take();
  measured.step_time_ns = times.total_ns;
  const PhaseTimes of_host = measured.phases;
  measured.phases = times.phases;
  measured.phases.data_wait_ns = of_host.data_wait_ns;
  measured.phases.exchange_ns = of_host.exchange_ns;
  measured.phases.exchange_hidden_ns = of_host.exchange_hidden_ns;
  measured.ended_ns = trace_.age_ns(times.ended);
  const Readback readback = captured.readback->take();
  measured.loss = readback.scalar;
  measured.root = root_of(captured, readback.digests);
  chain_ = step_chain_digest(chain_, measured.root, bits_of(measured.loss));
  steps_done_ = measured.step;
  measured.chain = chain_;
  if (level_ == TraceLevel::recent && !is_sketched(measured.step)) {
    trace_.add_recent(std::move(captured.tensors));
  } else if (digests_tensors(level_)) {
    trace_.add(captured.tensors);
  }
  trace_.add(measured);
  return std::move(measured);
}

// Loss, outputs and, where it is measured, the state; of that the loss scale in every step.
std::vector<at::Tensor> StepRecorder::step_tensors(std::int64_t step, std::span<const at::Tensor> outputs,
                                                   const at::Tensor& loss) const {
  std::vector<at::Tensor> tensors{loss};
  tensors.insert(tensors.end(), outputs.begin(), outputs.end());
  const bool measures_all = measures_state(step);
  if (measures_all) tensors.reserve(tensors.size() + state_.tensors().size());
  for (const StateTensor& tensor : state_.tensors()) {
    if (measures_all || tensor.role == TensorRole::scaler_state) tensors.push_back(*tensor.value);
  }
  return tensors;
}

Digest StepRecorder::root_of(const Captured& captured, const std::vector<Digest>& digests) {
  builder_.clear();
  if (digests_tensors(level_)) {
    for (const TensorRecord& tensor : captured.tensors.tensors) {
      append_tensor(builder_, tensor.name, to_string(tensor.role), tensor.digest);
    }
    return builder_.finish();
  }
  const std::size_t results = 1 + captured.outputs;  // the loss and the outputs, then the samples, then the state
  for (std::size_t i = 0; i < results; ++i) builder_.append(digests[i]);
  builder_.append(captured.samples);
  for (std::size_t i = results; i < digests.size(); ++i) builder_.append(digests[i]);
  return builder_.finish();
}

void StepRecorder::collect_tensors(StepMeasurement& measured, const at::Tensor& loss) {
  // The parameters that entered the step are in the list already; the batch goes before them.
  std::vector<TensorRecord> parameters = std::move(tensors_.tensors);
  tensors_.tensors.clear();
  for (std::int64_t number = 0; number < batches_.layout().of_rank(); ++number) {
    for (std::size_t i = 0; i < batches_.fields().size(); ++i) {
      add_tensor(batches_.layout().named(batches_.fields()[i].name, number), TensorRole::input,
                 batches_.tensor(i, number));
    }
  }
  for (TensorRecord& parameter : parameters) tensors_.tensors.push_back(std::move(parameter));
  for (const Shown& shown : shown_) {
    for (const Tapped& tapped : shown.taps) {
      if (tapped.role == TensorRole::forward_output) {
        add_tensor(tapped.name, tapped.role, tapped.value);
      } else {
        add_event(tapped, measured);
      }
    }
  }
  add_tensor("loss", TensorRole::loss, loss);
  for (const Shown& shown : shown_) {
    for (const Gradient& gradient : shown.gradients) {
      add_tensor(gradient.name, TensorRole::grad_output, gradient.value);
    }
  }
  for (const Gradient& gradient : of_micro_batches_) {
    add_tensor(gradient.name, TensorRole::parameter_gradient, gradient.value);
  }
  add_gradients();
  add_state(TensorRole::optimizer_state);
  add_state(TensorRole::buffer);
  add_state(TensorRole::scaler_state);
  for (Shown& shown : shown_) shown.clear();
  of_micro_batches_.clear();
}

void StepRecorder::add_tensor(std::string_view name, TensorRole role, const at::Tensor& tensor) {
  const auto sizes = tensor.sizes();
  TensorRecord record{
      std::string(name), role, dtype_name(tensor), {sizes.begin(), sizes.end()}, to_hex(device_.digest(tensor)), {}};
  if (with_sketches_) record.sketch = to_record(device_.sketch(tensor));
  tensors_.tensors.push_back(std::move(record));
}

void StepRecorder::add_event(const Tapped& event, StepMeasurement& measured) {
  std::vector<std::int64_t> ones;  // positions in the flattened tensor
  if (event.role == TensorRole::mask) {
    ones = positions_of_ones(event.value);
    measured.events[event.name] = static_cast<std::int64_t>(ones.size());
  } else {
    const at::Tensor largest = on_host(at::argmax(event.value, -1).flatten());
    const auto* choices = largest.data_ptr<std::int64_t>();
    const std::int64_t width = event.value.size(-1);
    for (std::int64_t row = 0; row < largest.numel(); ++row) ones.push_back(row * width + choices[row]);
  }
  const auto sizes = event.value.sizes();
  const std::int64_t count[] = {static_cast<std::int64_t>(ones.size())};
  tensors_.tensors.push_back({event.name,
                              event.role,
                              "bool",
                              {sizes.begin(), sizes.end()},
                              to_hex(tensor_digest("int64", count, std::as_bytes(std::span(ones)))),
                              to_record(sketch_of_ones(event.value.numel(), ones))});
}

void StepRecorder::add_gradients() {
  for (std::size_t i = 0; i < state_.size(); ++i) {
    at::Tensor gradient = state_.gradient(i);
    if (state_.sharding().shares_gradients() && !state_.is_frozen(i)) {
      const at::Tensor& piece = state_.shard_gradient(i);
      const at::Tensor whole = parallelism_.whole(i, piece);  // by all ranks, also those that have nothing of it
      if (piece.defined()) gradient = whole;
    }
    if (gradient.defined()) add_tensor(state_.name(i), TensorRole::parameter_gradient, gradient);
  }
}

// By all ranks, also those that have nothing of a tensor.
void StepRecorder::add_state(TensorRole role) {
  for (const WholeTensor& tensor : whole_tensors(state_)) {
    if (tensor.role != role) continue;
    const at::Tensor whole = put_together(tensor, parallelism_);
    if (tensor.here != nullptr) add_tensor(tensor.name, role, whole);
  }
}

// What every replica but the first computes with.
void StepRecorder::add_replicas() {
  for (int replica = 1; replica < batches_.layout().replicas; ++replica) {
    for (std::size_t i = 0; i < state_.size(); ++i) {
      add_tensor(state_.name(i) + "@" + std::to_string(replica), TensorRole::parameter,
                 parallelism_.parameter(replica, i));
    }
  }
}

void StepRecorder::finish() {
  with_sketches_ = true;
  tensors_ = {steps_done_, true, {}};
  for (const TensorRole role :
       {TensorRole::parameter, TensorRole::optimizer_state, TensorRole::buffer, TensorRole::scaler_state}) {
    add_state(role);
    if (role == TensorRole::parameter) add_replicas();
  }
  trace_.add(tensors_);
  trace_.write();
}

}  // namespace reprobench

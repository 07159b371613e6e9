#include "suites/worker/faults/faults.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <limits>
#include <string_view>

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/zeros.h>

#include "suites/worker/record/host_tensor.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

struct FaultSite {
  const Injection& injection;
  TrainState& state;
  BatchSource& batches;
};

// What a kind acts on: nothing that is named, an optimizer with an epsilon or a momentum, a sample of the (first
// micro-)batch, or an element of a parameter, of one that is trained, of one that is trained and of ZeRO 3 this rank's,
// or of what the optimizer keeps of one.
enum class Target { none, epsilon, momentum, sample, parameter, trained, own_gradient, kept };

struct FaultKind {
  std::string_view name;
  FaultPhase phase;
  Target target;
  void (*apply)(const FaultSite& site);
  bool lasts = false;  // acts at every step from the injection's on
};

// What a model asks for when it computes a module (models/layers/).
constexpr std::string_view kInModels[] = {"gelu_constant",   "gelu_written_out", "gelu_bias",    "norm_epsilon",
                                          "attention_scale", "attention_fused",  "cast_inserted"};

[[noreturn]] void refuse(const std::string& why) { throw RunFailure("bad_request", "inject: " + why); }

template <class T, class Change>
void change_element_of(const at::Tensor& tensor, std::int64_t element, Change change) {
  at::Tensor place =
      tensor.variable_data().view({-1}).narrow(0, element, 1);  // the same memory, another version counter
  at::Tensor value = on_host(place).clone();
  T& number = *static_cast<T*>(value.data_ptr());
  number = change(number);
  place.copy_(value);
}

// Replaces one element by change(element), without autograd noticing.
template <class Change>
void change_element(const at::Tensor& tensor, std::int64_t element, Change change) {
  if (tensor.scalar_type() == at::kDouble) {
    change_element_of<double>(tensor, element, change);
  } else {
    change_element_of<float>(tensor, element, change);
  }
}

// What this rank updates of the parameter.
Shard own_shard(const FaultSite& site, std::size_t index) {
  return site.state.partition().of(site.state.sharding().rank, index);
}

// Replaces the element of the parameter, of ZeRO 3 where this rank keeps it.
template <class Change>
void change_parameter(const FaultSite& site, Change change) {
  const std::size_t index = *site.state.index_of(site.injection.tensor);
  if (site.state.sharding().shares_parameters()) {
    change_element(site.state.shard(index), site.injection.element - own_shard(site, index).begin, change);
  } else {
    change_element(site.state.parameter(index), site.injection.element, change);
  }
  site.state.parameter_was_written(index);
}

constexpr auto kNextUp = [](auto value) {
  return std::nextafter(value, std::numeric_limits<decltype(value)>::infinity());
};

void move_by_one_ulp(const at::Tensor& tensor, std::int64_t element) { change_element(tensor, element, kNextUp); }

void weight_ulp(const FaultSite& site) { change_parameter(site, kNextUp); }

void weight_nan(const FaultSite& site) {
  change_parameter(site, [](auto value) { return std::numeric_limits<decltype(value)>::quiet_NaN(); });
}

// Finite, but its first product overflows.
void weight_huge(const FaultSite& site) {
  change_parameter(site, [](auto value) { return std::numeric_limits<decltype(value)>::max(); });
}

void weight_sign(const FaultSite& site) {
  change_parameter(site, [](auto value) { return -value; });
}

// What the optimizer keeps first: Adam's first moment, the momentum of SGD.
void moment_ulp(const FaultSite& site) {
  const std::size_t index = *site.state.index_of(site.injection.tensor);
  const std::int64_t first = site.state.sharding().is_on() ? own_shard(site, index).begin : 0;
  move_by_one_ulp(site.state.kept(index).front(), site.injection.element - first);
}

// What an offloaded state comes to where it was not brought back, or brought to another place: no second device is
// needed, because a tensor without memory has a device too.
void offload_device_mismatch(const FaultSite& site) {
  at::Tensor& kept = site.state.kept(*site.state.index_of(site.injection.tensor)).front();
  kept = at::empty_like(kept, kept.options().device(at::kMeta));
}

// Updated on the host and not brought back: the device goes on with what it had.
void offload_stale_parameter(const FaultSite& site) {
  site.state.forget_to_return(*site.state.index_of(site.injection.tensor));
}

// Whole parameters are dropped when the pass has ended, and not when the next one is read.
void parameters_kept_whole(const FaultSite& site) { site.state.keep_whole(); }

// Planted in ranks/overlapped_exchange.hpp, which asks the request.
void in_exchange(const FaultSite&) {}

// Planted in parallelism/replicas.hpp, which asks the request.
void in_replicas(const FaultSite&) {}

// What a product that overflows leaves behind. Of ZeRO 3 a gradient may be in shards already.
void gradient_inf(const FaultSite& site) {
  const std::size_t index = *site.state.index_of(site.injection.tensor);
  const auto infinity = [](auto value) { return std::numeric_limits<decltype(value)>::infinity(); };
  const at::Tensor& whole = site.state.gradient(index);
  if (whole.defined()) return change_element(whole, site.injection.element, infinity);
  const std::int64_t first = own_shard(site, index).begin;
  change_element(site.state.shard_gradient(index), site.injection.element - first, infinity);
}

void gradient_ulp(const FaultSite& site) {
  move_by_one_ulp(site.state.gradient(*site.state.index_of(site.injection.tensor)), site.injection.element);
}

// The gradient, split into shares that are scattered onto each other with LibTorch's deterministic mode off. On a GPU
// they are added by atomic operations in whatever order they come, so runs differ; on the CPU they are added in turn.
void atomic_add(const FaultSite& site) {
  constexpr std::int64_t kShares = 64;
  at::Context& context = at::globalContext();
  const bool deterministic = context.deterministicAlgorithms();
  at::Tensor gradient = site.state.gradient(*site.state.index_of(site.injection.tensor)).variable_data();
  const auto options = gradient.options();
  const at::Tensor weights = at::arange(1, kShares + 1, options) * (2.0 / (kShares * (kShares + 1)));
  const at::Tensor shares = at::outer(weights, gradient.flatten()).flatten();
  const at::Tensor places = at::arange(gradient.numel(), options.dtype(at::kLong)).repeat({kShares});
  context.setDeterministicAlgorithms(false, false);
  const at::Tensor sum = at::zeros({gradient.numel()}, options).index_add_(0, places, shares);
  context.setDeterministicAlgorithms(deterministic, false);
  gradient.copy_(sum.view_as(gradient));
}

// Ten times the usual one, from this step on. Of AdamW too; SGD has none.
void adam_epsilon(const FaultSite& site) { site.state.optimizer().set_epsilon(1e-7); }

// Half for nine tenths, of SGD's momentum or Adam's first moment, from this step on.
void optimizer_momentum(const FaultSite& site) { site.state.optimizer().set_momentum(0.5); }

// Of one parameter, by other calls from this step on.
void adam_written_out(const FaultSite& site) {
  site.state.write_out(*site.state.index_of(site.injection.tensor), AdamForm::textbook);
}
void adam_epsilon_unscaled(const FaultSite& site) {
  site.state.write_out(*site.state.index_of(site.injection.tensor), AdamForm::unscaled_epsilon);
}

void skip_update(const FaultSite&) {}

// What the kernel does to a process when memory runs out, and a debugger that attaches to it.
void process_killed(const FaultSite&) { std::raise(SIGKILL); }
void process_stopped(const FaultSite&) { std::raise(SIGSTOP); }

void loader_slow(const FaultSite& site) { site.batches.slow_down(); }

void stale_batch(const FaultSite& site) { site.batches.load(std::max<std::int64_t>(site.injection.step - 1, 1)); }

// As another seed would order the samples.
void wrong_batch(const FaultSite& site) { site.batches.load(site.injection.step + 7); }

// The learning signal is half of what it should be.
void update_halved(const FaultSite& site) { site.state.scale_learning_rate(0.5); }

void weight_stuck(const FaultSite& site) { site.state.hold(*site.state.index_of(site.injection.tensor)); }

// The one of the step it began at, again and again: learnt by heart.
void batch_stuck(const FaultSite& site) { site.batches.load(site.injection.step); }

// Every sample gets the answer of the one before it; of data without answers, such as images and their captions, all
// but the first field of it.
void targets_shifted(const FaultSite& site) {
  const auto fields = site.batches.fields();
  const bool has_target = std::ranges::count(fields, "target", &FieldSpec::name) > 0;
  for (std::size_t field = 1; field < fields.size(); ++field) {
    if (has_target && fields[field].name != "target") continue;
    for (std::int64_t number = 0; number < site.batches.layout().of_rank(); ++number) {
      const at::Tensor& answers = site.batches.tensor(field, number);
      answers.copy_(answers.roll({1}, {0}));
    }
  }
}

// Row `to` of the batch becomes a copy of row `from` of `source`.
void copy_row(const at::Tensor& target, std::int64_t to, const at::Tensor& source, std::int64_t from) {
  at::Tensor row = target.select(0, to);
  row.copy_(source.select(0, from));
}

void sample_repeated(const FaultSite& site) {
  const std::int64_t row = site.injection.element;
  const std::int64_t other = (row + 1) % site.batches.micro_batch_size();
  for (std::size_t field = 0; field < site.batches.fields().size(); ++field) {
    copy_row(site.batches.tensor(field), row, site.batches.tensor(field), other);
  }
}

// The sample is left out and the next batch's first one moves up.
void sample_dropped(const FaultSite& site) {
  site.batches.load(site.injection.step + 1);
  std::vector<at::Tensor> next;
  for (std::size_t field = 0; field < site.batches.fields().size(); ++field) {
    next.push_back(site.batches.tensor(field).select(0, 0).clone());
  }
  site.batches.load(site.injection.step);
  for (std::size_t field = 0; field < next.size(); ++field) {
    site.batches.tensor(field).select(0, site.injection.element).copy_(next[field]);
  }
}

// clang-format off
constexpr FaultKind kKinds[] = {
    // name              phase                          target              what it does to the run
    {"weight_ulp",      FaultPhase::before_step,       Target::parameter, &weight_ulp},
    {"weight_nan",      FaultPhase::before_step,       Target::parameter, &weight_nan},
    {"weight_huge",     FaultPhase::before_step,       Target::parameter, &weight_huge},
    {"weight_sign",     FaultPhase::before_step,       Target::parameter, &weight_sign},
    {"moment_ulp",      FaultPhase::after_update,      Target::kept,      &moment_ulp},
    {"adam_epsilon",    FaultPhase::before_step,       Target::epsilon,   &adam_epsilon, true},
    {"optimizer_momentum", FaultPhase::before_step,    Target::momentum,  &optimizer_momentum, true},
    {"adam_written_out", FaultPhase::before_step,      Target::trained,   &adam_written_out, true},
    {"adam_epsilon_unscaled", FaultPhase::before_step, Target::trained,   &adam_epsilon_unscaled, true},
    {"loader_slow",     FaultPhase::before_step,       Target::none,      &loader_slow},
    {"process_killed",  FaultPhase::before_step,       Target::none,      &process_killed},
    {"process_stopped", FaultPhase::before_step,       Target::none,      &process_stopped},
    {"stale_batch",     FaultPhase::after_load,        Target::none,      &stale_batch},
    {"wrong_batch",     FaultPhase::after_load,        Target::none,      &wrong_batch},
    {"sample_repeated", FaultPhase::after_load,        Target::sample,    &sample_repeated},
    {"sample_dropped",  FaultPhase::after_load,        Target::sample,    &sample_dropped},
    {"gradient_ulp",    FaultPhase::after_backward,    Target::trained,   &gradient_ulp},
    {"gradient_inf",    FaultPhase::after_backward,    Target::own_gradient, &gradient_inf},
    {"atomic_add",      FaultPhase::after_backward,    Target::trained,   &atomic_add},
    {"offload_device_mismatch", FaultPhase::before_update, Target::kept, &offload_device_mismatch},
    {"offload_stale_parameter", FaultPhase::before_update, Target::kept, &offload_stale_parameter},
    {"parameters_kept_whole", FaultPhase::before_step, Target::none,     &parameters_kept_whole},
    {"bucket_late",     FaultPhase::before_step,       Target::none,      &in_exchange},
    {"bucket_order",    FaultPhase::before_step,       Target::none,      &in_exchange},
    {"replica_stale",   FaultPhase::before_step,       Target::none,      &in_replicas},
    {"replica_gradient_lost", FaultPhase::before_step, Target::none,      &in_replicas},
    {"skip_update",     FaultPhase::instead_of_update, Target::none,      &skip_update},
    {"updates_stop",    FaultPhase::instead_of_update, Target::none,      &skip_update, true},
    {"update_halved",   FaultPhase::before_step,       Target::none,      &update_halved, true},
    {"weight_stuck",    FaultPhase::before_step,       Target::trained,   &weight_stuck, true},
    {"batch_stuck",     FaultPhase::after_load,        Target::none,      &batch_stuck, true},
    {"targets_shifted", FaultPhase::after_load,        Target::none,      &targets_shifted, true},
};
// clang-format on

const FaultKind* find_kind(const std::string& name) {
  const auto found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const FaultKind& kind) { return kind.name == name; });
  return found == std::end(kKinds) ? nullptr : &*found;
}

// That the element is one of those of which this rank keeps `what`.
void check_own(const FaultSite& site, std::size_t index, const std::string& what) {
  const Shard shard = own_shard(site, index);
  const std::int64_t element = site.injection.element;
  if (element >= shard.begin && element < shard.end) return;
  refuse("rank " + std::to_string(site.state.sharding().rank) + " keeps " + what + std::to_string(shard.begin) +
         " to " + std::to_string(shard.end) + " of `" + site.injection.tensor + "`, element " +
         std::to_string(element) + " is not one of them");
}

// That the rank has what the fault is to act on.
void check_shared_out(Target target, const FaultSite& site, std::size_t index) {
  const Sharding& sharding = site.state.sharding();
  if (target == Target::kept && sharding.is_on()) check_own(site, index, "the state of elements ");
  if (!sharding.shares_parameters()) return;
  if (target == Target::parameter || target == Target::own_gradient) check_own(site, index, "elements ");
  if (target == Target::trained) refuse("with `zero_stage: 3` no rank has a whole gradient");
}

// That the settings have what the fault spoils.
void check_settings(const FaultKind& kind, const FaultSite& site, const CellRequest& request) {
  const TrainState& state = site.state;
  if (kind.apply == &offload_stale_parameter && (!state.has_offload() || state.has_parameters_on_host())) {
    refuse("only with `offload: optimizer` are updated parameters brought back");
  }
  if (kind.apply == &parameters_kept_whole && !state.sharding().shares_parameters()) {
    refuse("only with `zero_stage: 3` on several ranks are whole parameters dropped");
  }
  const bool is_form = kind.apply == &adam_written_out || kind.apply == &adam_epsilon_unscaled;
  if (is_form && !state.optimizer().has_epsilon()) refuse("the model's optimizer is not Adam");
  if (is_form && !state.updates_by_operators()) {
    refuse("only an update by operators, tensor by tensor where the training runs, can be written otherwise");
  }
  if (kind.apply == &in_exchange && !setting_in<&Settings::overlap>(request.knobs)) {
    refuse("only with `overlap: on` are gradients exchanged in buckets while the backward pass goes on");
  }
  if (kind.apply == &in_replicas && site.batches.layout().replicas == 1) {
    refuse("only with `replicas: 2` or more is there a replica that gets weights and gives gradients");
  }
}

void check_target(const FaultKind& kind, const FaultSite& site) {
  const std::string& tensor = site.injection.tensor;
  const std::int64_t element = site.injection.element;
  std::int64_t count = 0;
  if (kind.apply == &sample_dropped && site.batches.length(1) > 0) {
    refuse("with `sequence_lengths: bucketed` the next batch's samples have another length");
  }
  if (kind.target == Target::none) return;
  if (kind.target == Target::epsilon) {
    if (!site.state.optimizer().has_epsilon()) refuse("the model's optimizer has no epsilon");
    return;
  }
  if (kind.target == Target::momentum) {
    if (site.state.optimizer().keeps().empty()) refuse("the model's optimizer has no momentum");
    return;
  }
  if (kind.target == Target::sample) {
    count = site.batches.micro_batch_size();
  } else {
    const auto index = site.state.index_of(tensor);
    if (!index) refuse("the model has no parameter `" + tensor + "`");
    if (kind.target != Target::parameter && site.state.is_frozen(*index)) {
      refuse("`" + tensor + "` is frozen: it has no gradient and no optimizer state");
    }
    if (kind.target == Target::kept && site.state.optimizer().keeps().empty()) {
      refuse("the model's optimizer keeps nothing of a parameter");
    }
    check_shared_out(kind.target, site, *index);
    count = site.state.parameter(*index).numel();
  }
  if (element < 0 || element >= count) {
    refuse("`" + (tensor.empty() ? std::string("batch") : tensor) + "` has " + std::to_string(count) +
           " elements, element " + std::to_string(element) + " is not one of them");
  }
}

}  // namespace

Fault::Fault(const CellRequest& request, TrainState& state, BatchSource& batches)
    : injection_(request.inject && !is_of_resuming(*request.inject) ? request.inject : std::nullopt),
      state_(state),
      batches_(batches) {
  if (!injection_) return;
  if (injection_->step < 1 || injection_->step > request.workload.steps) {
    refuse("step " + std::to_string(injection_->step) + " is not one of the " + std::to_string(request.workload.steps) +
           " steps");
  }
  if (const FaultKind* kind = find_kind(injection_->kind)) {
    check_settings(*kind, {*injection_, state_, batches_}, request);
    check_target(*kind, {*injection_, state_, batches_});
  } else {
    is_in_model_ = std::ranges::find(kInModels, injection_->kind) != std::end(kInModels);
    if (!is_in_model_) in_operators_ = OperatorFault::create(*injection_);
    if (!is_in_model_ && !in_operators_) refuse("there is no kind `" + injection_->kind + "`");
  }
}

bool Fault::changes(std::string_view kind, std::string_view module) {
  if (!is_in_model_ || injection_->kind != kind || step_ < injection_->step) return false;
  const bool is_meant = injection_->tensor.empty() || injection_->tensor == module;
  is_met_ = is_met_ || is_meant;
  return is_meant;
}

void Fault::check_is_met() const {
  if (!injection_ || step_ < injection_->step) return;
  if (in_operators_ && !in_operators_->is_met()) {
    refuse("as it is asked for, the training calls no operator that `" + injection_->kind + "` changes");
  }
  if (!is_in_model_ || is_met_) return;
  refuse(injection_->tensor.empty()
             ? "as it is asked for, the model has no module that `" + injection_->kind + "` changes"
             : "`" + injection_->tensor + "` is no module of the model that `" + injection_->kind + "` changes");
}

bool Fault::act(FaultPhase phase, std::int64_t step) {
  if (!injection_) return false;
  step_ = step;
  if (phase == FaultPhase::before_step && in_operators_) in_operators_->begin_step(step);
  const FaultKind* kind = find_kind(injection_->kind);
  if (kind == nullptr || kind->phase != phase) return false;
  if (kind->lasts ? step < injection_->step : step != injection_->step) return false;
  kind->apply({*injection_, state_, batches_});
  return true;
}

}  // namespace reprobench

#include "suites/worker/state/train_state.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include "models/initial_values.hpp"
#include "models/learning_rate.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/state/state_memory.hpp"
#include "suites/worker/weights/own_weights.hpp"

namespace reprobench {

struct TrainState::Slot {
  std::string name;
  at::Tensor parameter;
  at::Tensor detached;           // the same memory, without autograd
  at::Tensor flat;               // of a sharded state: the same as one dimension,
  at::Tensor shard;              // and what this rank keeps or updates of it
  std::vector<at::Tensor> kept;  // by the optimizer
  at::Tensor scratch;            // of the optimizer, so that a step allocates nothing here
  bool is_frozen;
  bool decays;
  Digest initial;
};

struct TrainState::Buffer {
  std::string name;
  at::Tensor value;
};

// What changes with the step's number, where a recorded step reads it.
struct TrainState::StepNumbers {
  at::Tensor on_device;  // undefined: the host passes them with each call
  at::Tensor* if_defined() { return on_device.defined() ? &on_device : nullptr; }
};

namespace {

at::Tensor in_precision(const at::Tensor& here, Precision precision) {
  return here.to(precision == Precision::fp64 ? at::kDouble : at::kFloat);
}

at::Tensor host_tensor(std::span<const float> values, const std::vector<std::int64_t>& shape, Precision precision) {
  at::Tensor here = at::empty(shape, at::kFloat);
  std::memcpy(here.data_ptr(), values.data(), here.nbytes());
  return in_precision(here, precision);
}

std::size_t elements_of(const std::vector<std::int64_t>& shape) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  return count;
}

std::vector<float> values_of(const BufferSpec& spec) {
  const std::size_t count = elements_of(spec.shape);
  if (spec.values.empty()) return std::vector<float>(count, spec.initial);
  if (spec.values.size() != count) {
    throw std::logic_error("buffer `" + spec.name + "` has " + std::to_string(spec.values.size()) + " values for " +
                           std::to_string(count) + " elements");
  }
  return spec.values;
}

// As the user's weights have them, or as they are drawn.
template <class Spec, class Draw>
at::Tensor first_values(const Spec& spec, OwnWeights* own_weights, Precision precision, Draw draw) {
  at::Tensor own = own_weights == nullptr ? at::Tensor() : own_weights->take(spec.name);
  return own.defined() ? in_precision(own, precision) : host_tensor(draw(), spec.shape, precision);
}

// Trained and frozen parameters are shared out each for themselves: the optimizer keeps nothing of the frozen ones.
Partition partition_of(const std::vector<ParameterSpec>& specs, const Sharding& sharding) {
  std::vector<std::int64_t> trained;
  std::vector<std::int64_t> frozen;
  for (const ParameterSpec& spec : specs) {
    const auto count = static_cast<std::int64_t>(elements_of(spec.shape));
    trained.push_back(spec.frozen ? 0 : count);
    frozen.push_back(spec.frozen ? count : 0);
  }
  Partition partition(trained, sharding.ranks);
  if (sharding.shares_parameters()) partition.add(Partition(frozen, sharding.ranks));
  return partition;
}

// The same memory as one dimension, of which autograd takes no notice: what a backward pass will read may be written
// through it. So a parameter's values can come back after they were dropped.
at::Tensor unwatched(const at::Tensor& tensor) {
  const c10::NoGradGuard no_grad;
  at::Tensor flat = at::empty({0}, tensor.options().requires_grad(false));
  flat.set_(tensor.storage(), 0, {tensor.numel()}, {1});
  return flat;
}

c10::StorageImpl& memory_of(const at::Tensor& tensor) { return *tensor.storage().unsafeGetStorageImpl(); }

}  // namespace

TrainState::TrainState(const Model& model, const ModelPreset& preset, std::int64_t steps, std::uint64_t seed,
                       Precision precision, const c10::Device& device, const Sharding& sharding,
                       OwnWeights* own_weights, OptimizerLayout layout, Offload offload)
    : preset_(preset),
      steps_(steps),
      optimizer_(make_optimizer(preset.optimizer)),
      numbers_(std::make_unique<StepNumbers>()),
      sharding_(sharding) {
  const std::vector<ParameterSpec> specs = model.parameters(preset);
  if (sharding_.is_on()) partition_ = partition_of(specs, sharding_);
  if (offload != Offload::none) offloaded_ = std::make_unique<OffloadedUpdate>(offload, device);
  if (has_parameters_on_host() && !sharding_.shares_parameters()) {
    throw std::logic_error("parameters on the host are shards of ZeRO 3");
  }
  if (layout == OptimizerLayout::flat) {
    if (sharding_.is_on() || has_offload() || !device.is_cpu()) {
      throw std::logic_error("a flat state is whole, and on the CPU");
    }
    flat_ = std::make_unique<FlatState>(specs, *optimizer_, precision == Precision::fp64);
  }
  for (const ParameterSpec& spec : specs) {
    const at::Tensor here = first_values(spec, own_weights, precision, [&] {
      return initial_values(seed, spec.name, elements_of(spec.shape), spec.init_scale, spec.init_mean);
    });
    const bool is_flat = flat_ != nullptr && !spec.frozen;
    add(spec, is_flat ? flat_->parameter(slots_.size()).copy_(here) : here.to(device, here.scalar_type()),
        digest_of(here));
  }
  for (std::size_t index = 0; index < slots_.size(); ++index) keep(index);
  const at::ScalarType type = precision == Precision::fp64 ? at::kDouble : at::kFloat;
  for (const BufferSpec& spec : model.buffers(preset)) {
    const at::Tensor here = first_values(spec, own_weights, precision, [&] { return values_of(spec); });
    buffers_.push_back({spec.name, here.to(device, type)});
  }
  if (own_weights != nullptr) own_weights->check_all_taken();
  list_tensors();
}

void TrainState::add(const ParameterSpec& spec, const at::Tensor& value, const Digest& initial) {
  const bool decays = !spec.frozen && optimizer_->decays(spec);
  Slot slot{spec.name, value, value.detach(), {}, {}, {}, {}, spec.frozen, decays, initial};
  if (!spec.frozen) slot.parameter.set_requires_grad(true);
  slots_.push_back(std::move(slot));
  if (sharding_.is_on()) cut_shard(slots_.size() - 1);
}

void TrainState::cut_shard(std::size_t index) {
  Slot& slot = slots_[index];
  const Shard shard = partition_.of(sharding_.rank, index);
  slot.flat = sharding_.shares_parameters() ? unwatched(slot.detached) : slot.detached.view({-1});
  if (shard.size() > 0) slot.shard = slot.flat.narrow(0, shard.begin, shard.size());
  if (!sharding_.shares_parameters()) return;
  if (slot.shard.defined())
    slot.shard = has_parameters_on_host() ? offloaded_->copy_of(slot.shard) : slot.shard.clone();
  drop_whole(index);
}

// Room for what the optimizer keeps of a parameter.
void TrainState::keep(std::size_t index) {
  Slot& slot = slots_[index];
  const at::Tensor& updated = sharding_.is_on() ? slot.shard : slot.detached;
  if (slot.is_frozen || !updated.defined()) return;
  if (offloaded_ != nullptr) {
    offloaded_->add(index, updated);
    for (std::size_t i = 0; i < optimizer_->keeps().size(); ++i) slot.kept.push_back(offloaded_->zeros_like(updated));
    slot.scratch = offloaded_->zeros_like(updated);
    return;
  }
  for (std::size_t i = 0; i < optimizer_->keeps().size(); ++i) {
    slot.kept.push_back(flat_ == nullptr ? at::zeros_like(updated) : flat_->kept(index, i));
  }
  if (flat_ == nullptr) slot.scratch = at::empty_like(updated);
}

TrainState::~TrainState() = default;

void TrainState::list_tensors() {
  for (std::size_t index = 0; index < slots_.size(); ++index) {
    const Slot& slot = slots_[index];
    std::string range;
    if (slot.shard.defined()) {
      const Shard shard = partition_.of(sharding_.rank, index);
      range = "[" + std::to_string(shard.begin) + ":" + std::to_string(shard.end) + "]";
    }
    if (!sharding_.shares_parameters()) {
      tensors_.push_back({slot.name, TensorRole::parameter, &slot.detached});
    } else if (slot.shard.defined()) {
      tensors_.push_back({slot.name + range, TensorRole::parameter, &slot.shard});
    }
    for (std::size_t i = 0; i < slot.kept.size(); ++i) {
      const std::string kept_name = slot.name + "." + std::string(optimizer_->keeps()[i]) + range;
      tensors_.push_back({kept_name, TensorRole::optimizer_state, &slot.kept[i]});
    }
  }
  for (const Buffer& buffer : buffers_) tensors_.push_back({buffer.name, TensorRole::buffer, &buffer.value});
}

void TrainState::add_tensor(const std::string& name, TensorRole role, const at::Tensor& value) {
  added_.push_back(std::make_unique<at::Tensor>(value));
  tensors_.push_back({name, role, added_.back().get()});
}

std::size_t TrainState::size() const { return slots_.size(); }
const std::string& TrainState::name(std::size_t index) const { return slots_[index].name; }
const at::Tensor& TrainState::parameter(std::size_t index) const { return slots_[index].parameter; }
const at::Tensor& TrainState::gradient(std::size_t index) const { return slots_[index].parameter.grad(); }
bool TrainState::is_frozen(std::size_t index) const { return slots_[index].is_frozen; }
bool TrainState::decays(std::size_t index) const { return slots_[index].decays; }
const Digest& TrainState::initial(std::size_t index) const { return slots_[index].initial; }
const at::Tensor& TrainState::buffer(std::size_t index) const { return buffers_[index].value; }
std::span<const StateTensor> TrainState::tensors() const { return tensors_; }
std::span<const at::Tensor> TrainState::kept(std::size_t index) const { return slots_[index].kept; }
std::span<at::Tensor> TrainState::kept(std::size_t index) { return slots_[index].kept; }
at::Tensor& TrainState::shard(std::size_t index) { return slots_[index].shard; }
const at::Tensor& TrainState::shard(std::size_t index) const { return slots_[index].shard; }
const at::Tensor& TrainState::shard_gradient(std::size_t index) const {
  const at::Tensor& shard = slots_[index].shard;
  return shard.defined() ? shard.grad() : shard;
}
const at::Tensor& TrainState::flat_parameter(std::size_t index) const { return slots_[index].flat; }
void TrainState::drop_gradient(std::size_t index) { slots_[index].parameter.mutable_grad() = at::Tensor(); }

void TrainState::note_model_state(std::int64_t beside_bytes) {
  ModelStateBytes now = model_state_bytes(*this);
  now.all += beside_bytes;
  now.on_device += beside_bytes;
  peak_ = {std::max(peak_.all, now.all), std::max(peak_.on_device, now.on_device),
           std::max(peak_.on_host, now.on_host)};
}

const at::Tensor& TrainState::copy_on_host(std::size_t index) const {
  static const at::Tensor kNone;
  return offloaded_ == nullptr ? kNone : offloaded_->copy(index);
}

void TrainState::parameter_was_written(std::size_t index) {
  if (offloaded_ != nullptr) offloaded_->take(index, updated(index));
}

void TrainState::parameters_were_written() {
  for (std::size_t i = 0; i < slots_.size(); ++i) parameter_was_written(i);
}

at::Tensor& TrainState::updated(std::size_t index) {
  return sharding_.is_on() ? slots_[index].shard : slots_[index].parameter;
}

bool TrainState::has_room(std::size_t index) const { return memory_of(slots_[index].parameter).data() != nullptr; }

void TrainState::make_room(std::size_t index) {
  const Slot& slot = slots_[index];
  const std::size_t bytes =
      static_cast<std::size_t>(slot.parameter.numel()) * static_cast<std::size_t>(slot.parameter.element_size());
  c10::StorageImpl& memory = memory_of(slot.parameter);
  memory.set_data_ptr_noswap(memory.allocator()->allocate(bytes));
  memory.set_nbytes(bytes);
}

// Whoever reads it before there is room again gets LibTorch's error "its data is not allocated yet".
void TrainState::drop_whole(std::size_t index) {
  c10::StorageImpl& memory = memory_of(slots_[index].parameter);
  memory.set_data_ptr_noswap(at::DataPtr(nullptr, slots_[index].parameter.device()));
  memory.set_nbytes(0);
}

void TrainState::clear_gradients() {
  for (Slot& slot : slots_) {
    slot.parameter.mutable_grad() = at::Tensor();
    if (slot.shard.defined()) slot.shard.mutable_grad() = at::Tensor();
  }
}

void TrainState::scale_gradients(double factor) {
  const c10::NoGradGuard no_grad;
  for (Slot& slot : slots_) {
    for (at::Tensor* tensor : {&slot.parameter, &slot.shard}) {
      if (tensor->defined() && tensor->grad().defined()) tensor->mutable_grad().mul_(factor);
    }
  }
}

void TrainState::scale_gradient(std::size_t index, double factor) {
  const c10::NoGradGuard no_grad;
  slots_[index].parameter.mutable_grad().mul_(factor);
}

void TrainState::scale_gradients_anew(double factor) {
  const c10::NoGradGuard no_grad;
  for (Slot& slot : slots_) {
    for (at::Tensor* tensor : {&slot.parameter, &slot.shard}) {
      if (!tensor->defined() || !tensor->grad().defined()) continue;
      tensor->mutable_grad() = tensor->grad().mul(factor);
    }
  }
}

double TrainState::learning_rate(std::int64_t step) const {
  return reprobench::learning_rate(preset_.optimizer, preset_.schedule, step, steps_);
}

void TrainState::begin_update(std::int64_t step) {
  optimizer_->begin(learning_rate(step) * learning_rate_share_, numbers_->if_defined());
}

bool TrainState::updates_by_operators() const {
  return flat_ == nullptr && offloaded_ == nullptr && numbers_->if_defined() == nullptr;
}

void TrainState::update_flat() {
  std::vector<at::Tensor> gradients(slots_.size());
  std::vector<bool> decays(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (i == held_ || slots_[i].is_frozen) continue;
    gradients[i] = slots_[i].parameter.grad();
    decays[i] = slots_[i].decays;
  }
  flat_->update(*optimizer_, gradients, decays);
}

void TrainState::apply_update() {
  const c10::NoGradGuard no_grad;
  if (flat_ != nullptr) return update_flat();
  if (offloaded_ != nullptr) return update_on_host();
  for (const std::size_t i : with_gradient()) {
    Slot& slot = slots_[i];
    const AdamForm form = i == written_out_.first ? written_out_.second : AdamForm::folded;
    optimizer_->step({updated(i), slot.kept, slot.scratch, slot.decays, form}, numbers_->if_defined());
  }
}

// The parameters that this rank updates now, each with the gradient of what it updates.
std::vector<std::size_t> TrainState::with_gradient() {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (i == held_) continue;
    Slot& slot = slots_[i];
    if (slot.shard.defined() && slot.parameter.grad().defined()) {  // every rank has all gradients
      const Shard shard = partition_.of(sharding_.rank, i);
      slot.shard.mutable_grad() = slot.parameter.grad().flatten().narrow(0, shard.begin, shard.size());
    }
    if (updated(i).defined() && updated(i).grad().defined()) found.push_back(i);
  }
  return found;
}

void TrainState::update_on_host() {
  std::vector<OffloadedTensors> all;
  for (const std::size_t i : with_gradient()) {
    Slot& slot = slots_[i];
    all.push_back({i, updated(i), updated(i).grad(), slot.kept, slot.scratch, slot.decays});
  }
  offloaded_->run(all, *optimizer_);
  note_model_state();
  offloaded_->release_staging();
}

void TrainState::keep_step_numbers_on_device() {
  numbers_->on_device = at::empty({Optimizer::kStepNumbers}, slots_.front().detached.options());
}

std::optional<std::size_t> TrainState::index_of(const std::string& parameter) const {
  const auto found =
      std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.name == parameter; });
  if (found == slots_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - slots_.begin());
}

}  // namespace reprobench

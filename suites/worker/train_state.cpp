#include "suites/worker/train_state.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include "models/initial_values.hpp"
#include "models/learning_rate.hpp"

namespace reprobench {

struct TrainState::Slot {
  std::string name;
  at::Tensor parameter;
  at::Tensor detached;           // the same memory, without autograd
  std::vector<at::Tensor> kept;  // by the optimizer
  at::Tensor scratch;            // of the optimizer, so that a step allocates nothing here
  bool is_frozen;
  bool decays;
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

template <class T>
double sum_of_squares(const at::Tensor& tensor) {
  const at::Tensor contiguous = tensor.contiguous();
  const T* values = static_cast<const T*>(contiguous.data_ptr());
  const auto count = static_cast<std::size_t>(contiguous.numel());
  constexpr std::size_t kLanes = 16;
  double lanes[kLanes] = {};
  for (std::size_t row = 0; row < count; row += kLanes) {
    const std::size_t width = std::min(kLanes, count - row);
    for (std::size_t j = 0; j < width; ++j) {
      const auto x = static_cast<double>(values[row + j]);
      lanes[j] += x * x;
    }
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

double sum_of_squares(const at::Tensor& tensor) {
  if (!tensor.device().is_cpu()) {
    const double norm = at::linalg_vector_norm(tensor, 2, {}, false, at::kDouble).item().toDouble();
    return norm * norm;
  }
  return tensor.scalar_type() == at::kDouble ? sum_of_squares<double>(tensor) : sum_of_squares<float>(tensor);
}

at::Tensor on_device(std::span<const float> values, const std::vector<std::int64_t>& shape, Precision precision,
                     const c10::Device& device) {
  at::Tensor here = at::empty(shape, at::kFloat);
  std::memcpy(here.data_ptr(), values.data(), here.nbytes());
  return here.to(device, precision == Precision::fp64 ? at::kDouble : at::kFloat);
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

}  // namespace

TrainState::TrainState(const Model& model, const ModelPreset& preset, std::int64_t steps, std::uint64_t seed,
                       Precision precision, const c10::Device& device)
    : preset_(preset),
      steps_(steps),
      optimizer_(make_optimizer(preset.optimizer)),
      numbers_(std::make_unique<StepNumbers>()) {
  for (const ParameterSpec& spec : model.parameters(preset)) {
    const auto values = initial_values(seed, spec.name, elements_of(spec.shape), spec.init_scale, spec.init_mean);
    at::Tensor value = on_device(values, spec.shape, precision, device);
    Slot slot{spec.name, value, value.detach(), {}, {}, spec.frozen, !spec.frozen && optimizer_->decays(spec)};
    if (!spec.frozen) {
      for (std::size_t i = 0; i < optimizer_->keeps().size(); ++i) slot.kept.push_back(at::zeros_like(value));
      slot.scratch = at::empty_like(value);
      slot.parameter.set_requires_grad(true);
    }
    slots_.push_back(std::move(slot));
  }
  for (const BufferSpec& spec : model.buffers(preset)) {
    buffers_.push_back({spec.name, on_device(values_of(spec), spec.shape, precision, device)});
  }
  list_tensors();
}

TrainState::~TrainState() = default;

void TrainState::list_tensors() {
  for (const Slot& slot : slots_) {
    tensors_.push_back({slot.name, TensorRole::parameter, &slot.detached});
    for (std::size_t i = 0; i < slot.kept.size(); ++i) {
      const std::string kept_name = slot.name + "." + std::string(optimizer_->keeps()[i]);
      tensors_.push_back({kept_name, TensorRole::optimizer_state, &slot.kept[i]});
    }
  }
  for (const Buffer& buffer : buffers_) tensors_.push_back({buffer.name, TensorRole::buffer, &buffer.value});
}

std::size_t TrainState::size() const { return slots_.size(); }
const std::string& TrainState::name(std::size_t index) const { return slots_[index].name; }
const at::Tensor& TrainState::parameter(std::size_t index) const { return slots_[index].parameter; }
const at::Tensor& TrainState::gradient(std::size_t index) const { return slots_[index].parameter.grad(); }
bool TrainState::is_frozen(std::size_t index) const { return slots_[index].is_frozen; }
bool TrainState::decays(std::size_t index) const { return slots_[index].decays; }
const at::Tensor& TrainState::buffer(std::size_t index) const { return buffers_[index].value; }
std::span<const StateTensor> TrainState::tensors() const { return tensors_; }
std::span<const at::Tensor> TrainState::kept(std::size_t index) const { return slots_[index].kept; }

void TrainState::clear_gradients() {
  for (Slot& slot : slots_) slot.parameter.mutable_grad() = at::Tensor();
}

void TrainState::scale_gradients(double factor) {
  const c10::NoGradGuard no_grad;
  for (Slot& slot : slots_) {
    if (slot.parameter.grad().defined()) slot.parameter.mutable_grad().mul_(factor);
  }
}

double TrainState::learning_rate(std::int64_t step) const {
  return reprobench::learning_rate(preset_.optimizer, preset_.schedule, step, steps_);
}

void TrainState::begin_update(std::int64_t step) { optimizer_->begin(learning_rate(step), numbers_->if_defined()); }

void TrainState::apply_update() {
  const c10::NoGradGuard no_grad;
  for (Slot& slot : slots_) {
    if (!slot.parameter.grad().defined()) continue;
    optimizer_->step({slot.parameter, slot.kept, slot.scratch, slot.decays}, numbers_->if_defined());
  }
}

void TrainState::keep_step_numbers_on_device() {
  numbers_->on_device = at::empty({Optimizer::kStepNumbers}, slots_.front().detached.options());
}

double TrainState::gradient_norm() const {
  double sum = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (gradient(i).defined()) sum += sum_of_squares(gradient(i));
  }
  return std::sqrt(sum);
}

std::optional<std::size_t> TrainState::index_of(const std::string& parameter) const {
  const auto found =
      std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.name == parameter; });
  if (found == slots_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - slots_.begin());
}

}  // namespace reprobench

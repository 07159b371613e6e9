#include "suites/worker/train_state.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include "models/initial_values.hpp"

namespace reprobench {

struct TrainState::Slot {
  std::string name;
  at::Tensor parameter;
  at::Tensor exp_avg;
  at::Tensor exp_avg_square;
  at::Tensor denominator;  // scratch of update(), so that a step allocates nothing here
};

// The two numbers of a step that change with its count: epsilon and the inverse of the step size.
struct TrainState::StepNumbers {
  at::Tensor on_device;  // (2), of the parameters' type; undefined: the host passes them with each call
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

}  // namespace

TrainState::TrainState(const Model& model, const ModelPreset& preset, std::uint64_t seed, Precision precision,
                       const c10::Device& device)
    : adam_(preset.optimizer), numbers_(std::make_unique<StepNumbers>()) {
  for (const ParameterSpec& spec : model.parameters(preset)) {
    at::Tensor value = at::empty(spec.shape, at::kFloat);
    const auto initial =
        initial_values(seed, spec.name, static_cast<std::size_t>(value.numel()), spec.init_scale, spec.init_mean);
    std::memcpy(value.data_ptr(), initial.data(), value.nbytes());
    value = value.to(device, precision == Precision::fp64 ? at::kDouble : at::kFloat);
    at::Tensor exp_avg = at::zeros_like(value);
    at::Tensor exp_avg_square = at::zeros_like(value);
    at::Tensor denominator = at::empty_like(value);
    value.set_requires_grad(true);
    slots_.push_back({spec.name, value, exp_avg, exp_avg_square, denominator});
  }
}

TrainState::~TrainState() = default;

std::size_t TrainState::size() const { return slots_.size(); }
const std::string& TrainState::name(std::size_t index) const { return slots_[index].name; }
const at::Tensor& TrainState::parameter(std::size_t index) const { return slots_[index].parameter; }
const at::Tensor& TrainState::gradient(std::size_t index) const { return slots_[index].parameter.grad(); }
const at::Tensor& TrainState::exp_avg(std::size_t index) const { return slots_[index].exp_avg; }
const at::Tensor& TrainState::exp_avg_square(std::size_t index) const { return slots_[index].exp_avg_square; }

void TrainState::clear_gradients() {
  for (Slot& slot : slots_) slot.parameter.mutable_grad() = at::Tensor();
}

void TrainState::scale_gradients(double factor) {
  const c10::NoGradGuard no_grad;
  for (Slot& slot : slots_) {
    if (slot.parameter.grad().defined()) slot.parameter.mutable_grad().mul_(factor);
  }
}

// The bias corrections are folded into step size and epsilon, as at the end of section 2 of the Adam paper: two passes
// over the parameters less than the textbook order.
void TrainState::begin_update() {
  beta1_power_ *= adam_.beta1;
  beta2_power_ *= adam_.beta2;
  const double correction = std::sqrt(1 - beta2_power_);
  step_size_ = adam_.learning_rate * correction / (1 - beta1_power_);
  epsilon_ = adam_.epsilon * correction;
  if (!numbers_->on_device.defined()) return;
  const bool for_gpu = !numbers_->on_device.device().is_cpu();
  at::Tensor numbers = at::empty({2}, at::TensorOptions(at::kDouble).pinned_memory(for_gpu));
  auto* values = static_cast<double*>(numbers.data_ptr());
  values[0] = epsilon_;
  values[1] = 1 / step_size_;
  numbers_->on_device.copy_(numbers, /*non_blocking=*/true);
}

void TrainState::apply_update() {
  const c10::NoGradGuard no_grad;
  const at::Tensor& numbers = numbers_->on_device;
  for (Slot& slot : slots_) {
    const at::Tensor& gradient = slot.parameter.grad();
    if (!gradient.defined()) continue;
    slot.exp_avg.lerp_(gradient, 1 - adam_.beta1);
    slot.exp_avg_square.mul_(adam_.beta2).addcmul_(gradient, gradient, 1 - adam_.beta2);
    at::sqrt_out(slot.denominator, slot.exp_avg_square);
    if (numbers.defined()) {
      slot.denominator.add_(numbers.select(0, 0)).mul_(numbers.select(0, 1));
      slot.parameter.addcdiv_(slot.exp_avg, slot.denominator, -1);
    } else {
      slot.denominator.add_(epsilon_);
      slot.parameter.addcdiv_(slot.exp_avg, slot.denominator, -step_size_);
    }
  }
}

void TrainState::keep_step_numbers_on_device() {
  const at::Tensor& parameter = slots_.front().parameter;
  numbers_->on_device = at::empty({2}, parameter.options().requires_grad(false));
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

at::Tensor TrainState::find(const std::string& name) const {
  for (const Slot& slot : slots_) {
    if (name == slot.name) return slot.parameter;
    if (name == slot.name + ".exp_avg") return slot.exp_avg;
    if (name == slot.name + ".exp_avg_sq") return slot.exp_avg_square;
  }
  return {};
}

std::vector<std::pair<std::string, at::Tensor>> TrainState::tensors() const {
  std::vector<std::pair<std::string, at::Tensor>> named;
  for (const Slot& slot : slots_) {
    named.emplace_back(slot.name, slot.parameter.detach());
    named.emplace_back(slot.name + ".exp_avg", slot.exp_avg);
    named.emplace_back(slot.name + ".exp_avg_sq", slot.exp_avg_square);
  }
  return named;
}

void TrainState::set_powers(double beta1_power, double beta2_power) {
  beta1_power_ = beta1_power;
  beta2_power_ = beta2_power;
}

}  // namespace reprobench

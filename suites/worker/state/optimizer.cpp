#include "suites/worker/state/optimizer.hpp"

#include <array>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sqrt.h>

#include "models/model_spec.hpp"

namespace reprobench {
namespace {

void copy_numbers(const std::array<double, Optimizer::kStepNumbers>& numbers, at::Tensor& on_device) {
  const bool for_gpu = !on_device.device().is_cpu();
  at::Tensor here = at::empty({Optimizer::kStepNumbers}, at::TensorOptions(at::kDouble).pinned_memory(for_gpu));
  std::copy(numbers.begin(), numbers.end(), static_cast<double*>(here.data_ptr()));
  on_device.copy_(here, /*non_blocking=*/true);
}

// Adam, and with a decay AdamW.
class Adam final : public Optimizer {
 public:
  Adam(const AdamSettings& settings, double weight_decay, DecayRule rule)
      : settings_(settings), weight_decay_(weight_decay), rule_(rule) {}

  std::span<const std::string_view> keeps() const override { return kKept; }

  // The bias corrections are folded into step size and epsilon, as at the end of section 2 of the Adam paper: two
  // passes over the parameters less than the textbook order.
  void begin(double learning_rate, at::Tensor* on_device) override {
    beta1_power_ *= settings_.beta1;
    beta2_power_ *= settings_.beta2;
    const double correction = std::sqrt(1 - beta2_power_);
    step_size_ = learning_rate * correction / (1 - beta1_power_);
    epsilon_ = settings_.epsilon * correction;
    remaining_ = 1 - learning_rate * weight_decay_;
    if (on_device != nullptr) copy_numbers({epsilon_, 1 / step_size_, remaining_}, *on_device);
  }

  void step(const TrainedTensors& tensors, const at::Tensor* on_device) const override {
    if (tensors.form != AdamForm::folded) return step_written_out(tensors);
    const auto& [parameter, kept, scratch, decays, form] = tensors;
    const at::Tensor& gradient = parameter.grad();
    at::Tensor& exp_avg = kept[0];
    at::Tensor& exp_avg_square = kept[1];
    if (decays && on_device != nullptr) parameter.mul_(on_device->select(0, 2));
    if (decays && on_device == nullptr) parameter.mul_(remaining_);
    exp_avg.lerp_(gradient, 1 - settings_.beta1);
    exp_avg_square.mul_(settings_.beta2).addcmul_(gradient, gradient, 1 - settings_.beta2);
    at::sqrt_out(scratch, exp_avg_square);
    if (on_device != nullptr) {
      scratch.add_(on_device->select(0, 0)).mul_(on_device->select(0, 1));
      parameter.addcdiv_(exp_avg, scratch, -1);
    } else {
      scratch.add_(epsilon_);
      parameter.addcdiv_(exp_avg, scratch, -step_size_);
    }
  }

  void step(const Elements<float>& elements) const override { update_adam(of_step(), elements); }
  void step(const Elements<double>& elements) const override { update_adam(of_step(), elements); }

  OptimizerNumbers numbers() const override { return {{"beta1_power", beta1_power_}, {"beta2_power", beta2_power_}}; }
  void set_numbers(const OptimizerNumbers& numbers) override {
    beta1_power_ = numbers.at("beta1_power");
    beta2_power_ = numbers.at("beta2_power");
  }
  bool has_epsilon() const override { return true; }
  void set_epsilon(double epsilon) override { settings_.epsilon = epsilon; }
  void set_momentum(double momentum) override { settings_.beta1 = momentum; }
  bool decays(const ParameterSpec& parameter) const override { return weight_decay_ != 0 && rule_(parameter); }

 private:
  static constexpr std::string_view kKept[] = {"exp_avg", "exp_avg_sq"};

  void step_written_out(const TrainedTensors& tensors) const {
    const at::Tensor& gradient = tensors.parameter.grad();
    at::Tensor& exp_avg = tensors.kept[0];
    at::Tensor& exp_avg_square = tensors.kept[1];
    const double correction = std::sqrt(1 - beta2_power_);
    if (tensors.decays) tensors.parameter.mul_(remaining_);
    exp_avg.mul_(settings_.beta1).add_(gradient, 1 - settings_.beta1);
    exp_avg_square.mul_(settings_.beta2).addcmul_(gradient, gradient, 1 - settings_.beta2);
    const double epsilon = tensors.form == AdamForm::textbook ? settings_.epsilon : epsilon_;
    const at::Tensor size = (exp_avg_square.sqrt() / correction).add_(epsilon);
    tensors.parameter.addcdiv_(exp_avg, size, -step_size_ / correction);
  }

  AdamNumbers of_step() const { return {settings_.beta1, settings_.beta2, epsilon_, step_size_, remaining_}; }

  AdamSettings settings_;
  double weight_decay_;
  DecayRule rule_;
  double beta1_power_ = 1;  // running products: pow() differs between C libraries
  double beta2_power_ = 1;
  double step_size_ = 0;  // of this step, with the bias corrections
  double epsilon_ = 0;
  double remaining_ = 1;  // of a weight that decays
};

class Sgd final : public Optimizer {
 public:
  explicit Sgd(const SgdSettings& settings) : settings_(settings) {}

  std::span<const std::string_view> keeps() const override {
    return std::span(kKept).first(settings_.momentum == 0 ? 0 : 1);
  }

  void begin(double learning_rate, at::Tensor* on_device) override {
    learning_rate_ = learning_rate;
    if (on_device != nullptr) copy_numbers({learning_rate, 0, 0}, *on_device);
  }

  void step(const TrainedTensors& tensors, const at::Tensor* on_device) const override {
    const auto& [parameter, kept, scratch, decays, form] = tensors;
    at::Tensor direction = parameter.grad();
    if (decays) direction = scratch.copy_(direction).add_(parameter, settings_.weight_decay);
    if (!kept.empty()) direction = kept[0].mul_(settings_.momentum).add_(direction);
    if (on_device != nullptr) {
      parameter.addcmul_(direction, on_device->select(0, 0), -1);
    } else {
      parameter.add_(direction, -learning_rate_);
    }
  }

  void step(const Elements<float>& elements) const override { update_sgd(of_step(), elements); }
  void step(const Elements<double>& elements) const override { update_sgd(of_step(), elements); }

  void set_momentum(double momentum) override { settings_.momentum = momentum; }

  bool decays(const ParameterSpec& parameter) const override {
    return settings_.weight_decay != 0 && settings_.decays(parameter);
  }

 private:
  static constexpr std::string_view kKept[] = {"momentum_buffer"};

  SgdNumbers of_step() const { return {learning_rate_, settings_.momentum, settings_.weight_decay}; }

  SgdSettings settings_;
  double learning_rate_ = 0;
};

struct Make {
  std::unique_ptr<Optimizer> operator()(const AdamSettings& adam) const {
    return std::make_unique<Adam>(adam, 0, &decays_everything);
  }
  std::unique_ptr<Optimizer> operator()(const AdamWSettings& adamw) const {
    return std::make_unique<Adam>(adamw.adam, adamw.weight_decay, adamw.decays);
  }
  std::unique_ptr<Optimizer> operator()(const SgdSettings& sgd) const { return std::make_unique<Sgd>(sgd); }
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSettings& settings) { return std::visit(Make{}, settings); }

}  // namespace reprobench

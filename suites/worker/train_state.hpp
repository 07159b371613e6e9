// Parameters, gradients and optimiser state of a run.
//
// Adam is written out in ATen operations rather than taken from torch::optim: the sequence of operations is then part
// of the workload, equal on every stack, and a release that reorders its optimiser does not change the work.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/model_spec.hpp"

namespace c10 {
struct Device;
}

namespace reprobench {

enum class Precision { fp32, bf16, fp16, fp64 };

class TrainState {
 public:
  // Initial values are drawn on the host in fp32 and, for fp64, converted; bf16 and fp16 keep fp32 parameters.
  TrainState(const Model& model, const ModelPreset& preset, std::uint64_t seed, Precision precision,
             const c10::Device& device);
  ~TrainState();
  TrainState(const TrainState&) = delete;
  TrainState& operator=(const TrainState&) = delete;

  std::size_t size() const;
  const std::string& name(std::size_t index) const;
  const at::Tensor& parameter(std::size_t index) const;
  const at::Tensor& gradient(std::size_t index) const;        // undefined before the first backward pass
  const at::Tensor& exp_avg(std::size_t index) const;         // Adam's first moment
  const at::Tensor& exp_avg_square(std::size_t index) const;  // and second

  void clear_gradients();

  // Every gradient there is, times `factor`.
  void scale_gradients(double factor);

  // One step of Adam on every parameter that has a gradient: what the host computes, then what tensors do. The second
  // half can be recorded if the step's two numbers lie on the device.
  void update() {
    begin_update();
    apply_update();
  }
  void begin_update();
  void apply_update();
  void keep_step_numbers_on_device();

  // L2 norm over all gradients, accumulated in fp64; on the CPU in a fixed order.
  double gradient_norm() const;

  // The parameter `name`, or its moment as NAME.exp_avg or NAME.exp_avg_sq; an undefined tensor if there is none.
  at::Tensor find(const std::string& name) const;
  // All of these, detached, by name.
  std::vector<std::pair<std::string, at::Tensor>> tensors() const;
  std::optional<std::size_t> index_of(const std::string& parameter) const;

  // The running products of Adam's bias corrections: the part of its state that is no tensor.
  double beta1_power() const { return beta1_power_; }
  double beta2_power() const { return beta2_power_; }
  void set_powers(double beta1_power, double beta2_power);

  void set_epsilon(double epsilon) { adam_.epsilon = epsilon; }

 private:
  struct Slot;
  struct StepNumbers;

  AdamSettings adam_;
  double beta1_power_ = 1;  // running products: pow() differs between C libraries
  double beta2_power_ = 1;
  double step_size_ = 0;  // of this step, with the bias corrections
  double epsilon_ = 0;
  std::unique_ptr<StepNumbers> numbers_;
  std::vector<Slot> slots_;
};

}  // namespace reprobench

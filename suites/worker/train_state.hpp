// Parameters, gradients, optimizer state and buffers of a run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "matrix/contract/trace.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/optimizer.hpp"

namespace c10 {
struct Device;
}

namespace reprobench {

enum class Precision { fp32, bf16, fp16, fp64 };

// One tensor of the state; role parameter, optimizer_state or buffer. It lives as long as its TrainState.
struct StateTensor {
  std::string name;  // "fc1.weight", "fc1.weight.exp_avg", "bn1.running_mean"
  TensorRole role = TensorRole::parameter;
  const at::Tensor* value = nullptr;  // detached
};

class TrainState {
 public:
  // For a run of `steps`. Initial values are drawn on the host in fp32 and, for fp64, converted; bf16 and fp16 keep
  // fp32 parameters.
  TrainState(const Model& model, const ModelPreset& preset, std::int64_t steps, std::uint64_t seed, Precision precision,
             const c10::Device& device);
  ~TrainState();
  TrainState(const TrainState&) = delete;
  TrainState& operator=(const TrainState&) = delete;

  // Parameters and buffers, in the model's order.
  std::size_t size() const;
  const std::string& name(std::size_t index) const;
  const at::Tensor& parameter(std::size_t index) const;
  const at::Tensor& gradient(std::size_t index) const;  // undefined before the first backward pass, and if frozen
  bool is_frozen(std::size_t index) const;
  bool decays(std::size_t index) const;
  const at::Tensor& buffer(std::size_t index) const;
  std::optional<std::size_t> index_of(const std::string& parameter) const;

  // Everything that goes on from step to step: each parameter followed by what the optimizer keeps of it, in the
  // optimizer's order, nothing for a frozen one; then the buffers.
  std::span<const StateTensor> tensors() const;

  // What the optimizer keeps of that parameter; empty if it keeps nothing.
  std::span<const at::Tensor> kept(std::size_t index) const;

  void clear_gradients();

  // Every gradient there is, times `factor`.
  void scale_gradients(double factor);

  double learning_rate(std::int64_t step) const;  // 1-based, by the preset's schedule

  // The optimizer's step on every parameter that has a gradient: what the host computes, then what tensors do. The
  // second half can be recorded if the step's numbers lie on the device.
  void update(std::int64_t step) {
    begin_update(step);
    apply_update();
  }
  void begin_update(std::int64_t step);
  void apply_update();
  void keep_step_numbers_on_device();

  // L2 norm over all gradients, accumulated in fp64; on the CPU in a fixed order.
  double gradient_norm() const;

  Optimizer& optimizer() { return *optimizer_; }
  const Optimizer& optimizer() const { return *optimizer_; }

 private:
  struct Slot;
  struct Buffer;
  struct StepNumbers;

  void list_tensors();

  const ModelPreset& preset_;
  std::int64_t steps_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<StepNumbers> numbers_;
  std::vector<Slot> slots_;
  std::vector<Buffer> buffers_;
  std::vector<StateTensor> tensors_;
};

}  // namespace reprobench

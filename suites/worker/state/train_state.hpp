// Parameters, gradients, optimizer state and buffers of a run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/digest/digest.hpp"
#include "matrix/contract/settings.hpp"
#include "matrix/contract/trace.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/ranks/partition.hpp"
#include "suites/worker/state/flat_state.hpp"
#include "suites/worker/state/offloaded_update.hpp"
#include "suites/worker/state/optimizer.hpp"

namespace c10 {
struct Device;
}

namespace reprobench {

class OwnWeights;

// Memory of parameters, gradients and the optimizer's state, each piece once.
struct ModelStateBytes {
  std::int64_t all = -1;
  std::int64_t on_device = -1;  // where the training runs
  std::int64_t on_host = -1;    // what offload keeps there
};

// One tensor of the state; role parameter, optimizer_state, buffer or scaler_state. It lives as long as its TrainState.
struct StateTensor {
  std::string name;  // "fc1.weight", "fc1.weight.exp_avg", "bn1.running_mean"; of a shard "fc1.weight.exp_avg[0:512]"
  TensorRole role = TensorRole::parameter;
  const at::Tensor* value = nullptr;  // detached
};

class TrainState {
 public:
  // For a run of `steps`. Initial values are drawn on the host in fp32 and, for fp64, converted; bf16 and fp16 keep
  // fp32 parameters. A sharded state keeps of the optimizer's state this rank's shards alone; of ZeRO 3 of the
  // parameters as well, and whole ones are without memory until somebody makes room for them. What `own_weights` has
  // begins as that has it; nothing of it is left afterwards. A flat state is on the CPU, not sharded and not offloaded.
  TrainState(const Model& model, const ModelPreset& preset, std::int64_t steps, std::uint64_t seed, Precision precision,
             const c10::Device& device, const Sharding& sharding = {}, OwnWeights* own_weights = nullptr,
             OptimizerLayout layout = OptimizerLayout::per_tensor, Offload offload = Offload::none);
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
  const Digest& initial(std::size_t index) const;  // digest of the parameter's first values
  std::optional<std::size_t> index_of(const std::string& parameter) const;

  // Everything that goes on from step to step: each parameter followed by what the optimizer keeps of it, in the
  // optimizer's order, nothing for a frozen one; then the buffers, then what was added.
  std::span<const StateTensor> tensors() const;

  // Has a tensor that is no model's go on from step to step with the others: in traces, checkpoints and snapshots.
  void add_tensor(const std::string& name, TensorRole role, const at::Tensor& value);

  // What the optimizer keeps of that parameter here; empty if it keeps nothing. Of a shard one dimension.
  std::span<const at::Tensor> kept(std::size_t index) const;
  std::span<at::Tensor> kept(std::size_t index);

  // The most of what model_state_bytes() (state_memory.hpp) was, each time this was noted; `beside_bytes`: and of what
  // other replicas of the model had on the device then.
  void note_model_state(std::int64_t beside_bytes = 0);
  const ModelStateBytes& model_state_peak() const { return peak_; }

  // Of an offloaded state what the host updates of a parameter; undefined if that is nothing.
  const at::Tensor& copy_on_host(std::size_t index) const;
  std::int64_t staging_bytes() const { return offloaded_ == nullptr ? 0 : offloaded_->staging_bytes(); }
  bool has_offload() const { return offloaded_ != nullptr; }
  bool has_parameters_on_host() const { return offloaded_ != nullptr && offloaded_->has_parameters(); }

  // After somebody has written parameters, or that one: an offloaded state has a second place for them.
  void parameters_were_written();
  void parameter_was_written(std::size_t index);

  // Of a sharded state: what this rank updates of a parameter, as one dimension of the parameter's own memory (of ZeRO
  // 3 of memory apart; undefined if that is nothing), its gradient, and all of the parameter as one dimension.
  const Sharding& sharding() const { return sharding_; }
  const Partition& partition() const { return partition_; }
  at::Tensor& shard(std::size_t index);
  const at::Tensor& shard(std::size_t index) const;
  const at::Tensor& shard_gradient(std::size_t index) const;
  const at::Tensor& flat_parameter(std::size_t index) const;
  void drop_gradient(std::size_t index);

  // Of ZeRO 3: the memory of a whole parameter. What has neither seen the values of the parameter whole nor written
  // them must not read what room was made for.
  bool has_room(std::size_t index) const;
  void make_room(std::size_t index);
  void drop_whole(std::size_t index);

  void clear_gradients();

  // Every gradient there is, times `factor`; `anew` leaves the old tensors as they are.
  void scale_gradients(double factor);
  void scale_gradient(std::size_t index, double factor);  // of a parameter, not of a shard
  void scale_gradients_anew(double factor);

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

  // For faults: from now on updates have this share of their learning rate, which learning_rate() does not tell, and
  // that parameter has none.
  void scale_learning_rate(double share) { learning_rate_share_ = share; }
  void hold(std::size_t index) { held_ = index; }
  // In a drill; only where it updates by operators.
  void write_out(std::size_t index, AdamForm form) { written_out_ = {index, form}; }
  bool updates_by_operators() const;

  // For faults: that parameter's next update stays on the host; parameters stay whole until the pass has ended.
  void forget_to_return(std::size_t index) { offloaded_->forget_to_return(index); }
  void keep_whole() { keeps_whole_ = true; }
  bool keeps_whole() const { return keeps_whole_; }

  Optimizer& optimizer() { return *optimizer_; }
  const Optimizer& optimizer() const { return *optimizer_; }

 private:
  struct Slot;
  struct Buffer;
  struct StepNumbers;

  void add(const ParameterSpec& spec, const at::Tensor& value, const Digest& initial);
  void cut_shard(std::size_t index);
  void keep(std::size_t index);
  void update_flat();
  std::vector<std::size_t> with_gradient();
  void update_on_host();
  at::Tensor& updated(std::size_t index);
  void list_tensors();

  const ModelPreset& preset_;
  std::int64_t steps_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<StepNumbers> numbers_;
  std::unique_ptr<FlatState> flat_;                                    // null: every tensor has memory of its own
  std::unique_ptr<OffloadedUpdate> offloaded_;                         // null: all of it lies where the training runs
  std::pair<std::size_t, AdamForm> written_out_{0, AdamForm::folded};  // the parameter that is updated so
  std::vector<Slot> slots_;
  std::vector<Buffer> buffers_;
  std::vector<std::unique_ptr<at::Tensor>> added_;
  std::vector<StateTensor> tensors_;
  Sharding sharding_;
  Partition partition_;  // of a sharded state
  double learning_rate_share_ = 1;
  std::optional<std::size_t> held_;
  bool keeps_whole_ = false;
  ModelStateBytes peak_;
};

}  // namespace reprobench

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
  std::int64_t on_host = -1;    // the part that offload keeps there
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
  // fp32 parameters. A sharded state keeps only this rank's shards of the optimizer's state, and with ZeRO 3 of the
  // parameters as well. Whole parameters then have no memory until make_room(). Tensors that `own_weights` has begin
  // with its values; all of them are taken from it. A flat state is on the CPU, not sharded and not offloaded.
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

  // All tensors that live from step to step: each parameter followed by its optimizer state, in the optimizer's order,
  // none for a frozen one; then the buffers, then the tensors that were added.
  std::span<const StateTensor> tensors() const;

  // Adds a tensor that is not the model's to those that live from step to step, in traces, checkpoints and snapshots.
  void add_tensor(const std::string& name, TensorRole role, const at::Tensor& value);

  // The optimizer state of that parameter on this rank; empty if there is none. That of a shard has one dimension.
  std::span<const at::Tensor> kept(std::size_t index) const;
  std::span<at::Tensor> kept(std::size_t index);

  // Notes the present model_state_bytes() (state_memory.hpp); the peak is the largest of those noted. `beside_bytes` is
  // the memory that other replicas of the model have on the device now.
  void note_model_state(std::int64_t beside_bytes = 0);
  const ModelStateBytes& model_state_peak() const { return peak_; }

  // For an offloaded state: the tensor of a parameter that the host updates; undefined if there is none.
  const at::Tensor& copy_on_host(std::size_t index) const;
  std::int64_t staging_bytes() const { return offloaded_ == nullptr ? 0 : offloaded_->staging_bytes(); }
  bool has_offload() const { return offloaded_ != nullptr; }
  bool has_parameters_on_host() const { return offloaded_ != nullptr && offloaded_->has_parameters(); }

  // Call these after other code has written all parameters, or that one: an offloaded state has a second copy of them.
  void parameters_were_written();
  void parameter_was_written(std::size_t index);

  // For a sharded state: the part of a parameter that this rank updates, its gradient, and the whole parameter, each in
  // one dimension. The part lies in the parameter's own memory; with ZeRO 3 it has memory of its own. It is undefined
  // if it is empty.
  const Sharding& sharding() const { return sharding_; }
  const Partition& partition() const { return partition_; }
  at::Tensor& shard(std::size_t index);
  const at::Tensor& shard(std::size_t index) const;
  const at::Tensor& shard_gradient(std::size_t index) const;
  const at::Tensor& flat_parameter(std::size_t index) const;
  void drop_gradient(std::size_t index);

  // For ZeRO 3: the memory of a whole parameter. Its contents must not be read after make_room() until the parameter's
  // values have been written.
  bool has_room(std::size_t index) const;
  void make_room(std::size_t index);
  void drop_whole(std::size_t index);

  void clear_gradients();

  // Multiplies every gradient by `factor`; scale_gradients_anew() makes new tensors and leaves the old ones as they
  // are.
  void scale_gradients(double factor);
  void scale_gradient(std::size_t index, double factor);  // of a parameter, not of a shard
  void scale_gradients_anew(double factor);

  double learning_rate(std::int64_t step) const;  // 1-based, by the preset's schedule

  // The optimizer's step on every parameter that has a gradient: first the host's computation, then that on tensors.
  // The second half can be recorded if the step's numbers lie on the device.
  void update(std::int64_t step) {
    begin_update(step);
    apply_update();
  }
  void begin_update(std::int64_t step);
  void apply_update();
  void keep_step_numbers_on_device();

  // For faults. From now on updates have this share of their learning rate, which learning_rate() does not tell; and
  // that parameter is not updated.
  void scale_learning_rate(double share) { learning_rate_share_ = share; }
  void hold(std::size_t index) { held_ = index; }
  // For a drill; only if updates_by_operators().
  void write_out(std::size_t index, AdamForm form) { written_out_ = {index, form}; }
  bool updates_by_operators() const;

  // For faults: that parameter's next update is not copied back from the host; parameters stay whole until the pass has
  // ended.
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
  std::unique_ptr<OffloadedUpdate> offloaded_;                         // null: all state lies where the training runs
  std::pair<std::size_t, AdamForm> written_out_{0, AdamForm::folded};  // the parameter with that form
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

// The memory of a TrainState: how much it takes where, and that of whole parameters of ZeRO 3, which come and go.
#include <algorithm>
#include <set>

#include "suites/worker/train_state_slot.hpp"

namespace reprobench {

// Of a view that would be all of what it looks into; of a flat state each buffer once.
std::int64_t TrainState::optimizer_state_bytes() const {
  std::set<const c10::StorageImpl*> seen;
  std::int64_t bytes = 0;
  for (const Slot& slot : slots_) {
    for (const at::Tensor& kept : slot.kept) {
      if (seen.insert(&memory_of(kept)).second) bytes += static_cast<std::int64_t>(kept.storage().nbytes());
    }
  }
  return bytes;
}

// Memory that what trains and what the host keeps had in common would count for the device.
ModelStateBytes TrainState::model_state_bytes() const {
  std::set<const c10::StorageImpl*> seen;  // shards may lie in what they are cut from
  const auto bytes_of = [&](const at::Tensor& tensor) -> std::int64_t {
    if (!tensor.defined() || !seen.insert(&memory_of(tensor)).second) return 0;
    return static_cast<std::int64_t>(memory_of(tensor).nbytes());
  };
  ModelStateBytes bytes{0, 0, 0};
  for (const Slot& slot : slots_) {
    bytes.on_device += bytes_of(slot.parameter) + bytes_of(slot.parameter.grad());
    if (slot.shard.defined()) bytes.on_device += bytes_of(slot.shard.grad());
    if (!has_parameters_on_host()) bytes.on_device += bytes_of(slot.shard);
  }
  for (const Slot& slot : slots_) {
    std::int64_t& kept_bytes = has_offload() ? bytes.on_host : bytes.on_device;
    for (const at::Tensor& kept : slot.kept) kept_bytes += bytes_of(kept);
    if (has_parameters_on_host()) bytes.on_host += bytes_of(slot.shard);
  }
  for (std::size_t i = 0; has_offload() && i < slots_.size(); ++i) bytes.on_host += bytes_of(copy_on_host(i));
  if (has_offload()) bytes.on_host += offloaded_->staging_bytes();
  bytes.all = bytes.on_device + bytes.on_host;
  return bytes;
}

void TrainState::note_model_state() {
  const ModelStateBytes now = model_state_bytes();
  peak_ = {std::max(peak_.all, now.all), std::max(peak_.on_device, now.on_device),
           std::max(peak_.on_host, now.on_host)};
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

}  // namespace reprobench

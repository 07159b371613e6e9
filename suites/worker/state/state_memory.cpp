#include "suites/worker/state/state_memory.hpp"

#include <set>

#include <ATen/core/Tensor.h>

namespace reprobench {
namespace {

// Bytes of storages, each once: shards may lie in what they are cut from, and a flat state is one buffer of each kind.
class StorageBytes {
 public:
  std::int64_t of(const at::Tensor& tensor) {
    if (!tensor.defined()) return 0;
    const c10::StorageImpl* memory = tensor.storage().unsafeGetStorageImpl();
    return seen_.insert(memory).second ? static_cast<std::int64_t>(memory->nbytes()) : 0;
  }

 private:
  std::set<const c10::StorageImpl*> seen_;
};

}  // namespace

std::int64_t optimizer_state_bytes(const TrainState& state) {
  StorageBytes once;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < state.size(); ++i) {
    for (const at::Tensor& kept : state.kept(i)) bytes += once.of(kept);
  }
  return bytes;
}

ModelStateBytes model_state_bytes(const TrainState& state) {
  StorageBytes once;
  ModelStateBytes bytes{0, 0, 0};
  for (std::size_t i = 0; i < state.size(); ++i) {
    bytes.on_device += once.of(state.parameter(i)) + once.of(state.gradient(i)) + once.of(state.shard_gradient(i));
    if (!state.has_parameters_on_host()) bytes.on_device += once.of(state.shard(i));
  }
  std::int64_t& of_optimizer = state.has_offload() ? bytes.on_host : bytes.on_device;
  for (std::size_t i = 0; i < state.size(); ++i) {
    for (const at::Tensor& kept : state.kept(i)) of_optimizer += once.of(kept);
    bytes.on_host += once.of(state.copy_on_host(i));
    if (state.has_parameters_on_host()) bytes.on_host += once.of(state.shard(i));
  }
  bytes.on_host += state.staging_bytes();
  bytes.all = bytes.on_device + bytes.on_host;
  return bytes;
}

}  // namespace reprobench

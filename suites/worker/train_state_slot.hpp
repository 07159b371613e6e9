// What a TrainState has of each parameter: for its own source files.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "suites/worker/train_state.hpp"

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

inline c10::StorageImpl& memory_of(const at::Tensor& tensor) { return *tensor.storage().unsafeGetStorageImpl(); }

}  // namespace reprobench

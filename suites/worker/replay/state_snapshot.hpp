// The whole state of a run between two steps, in a safetensors file that any stack's worker and the public Python
// package can read. Tensors: parameters and buffers under their names; the optimizer's state of a parameter as
// NAME.exp_avg, NAME.momentum_buffer and so on. Metadata: the steps done (the position in the data and in the learning
// rates); the seed (our random numbers are keyed and have no other state); and the optimizer's numbers, such as the
// running products of Adam's bias corrections.
#pragma once

#include <cstdint>
#include <filesystem>

#include "kernels/digest/digest.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {

struct SnapshotPosition {
  std::int64_t steps_done = 0;
  std::uint64_t seed = 0;
  Digest workload;
  Digest chain;
};

void write_snapshot(const std::filesystem::path& path, const TrainState& state, const SnapshotPosition& position);

// Overwrites every tensor of `state`, converting fp32 to its precision exactly. Returns the chain up to there. Throws
// RunFailure "bad_request" if the file's tensors are not this state's, or its steps or seed not those asked for.
Digest read_snapshot(const std::filesystem::path& path, TrainState& state, const SnapshotPosition& expected);

}  // namespace reprobench

// A checkpoint: the whole state of a training between two steps, in one safetensors file, whatever the layout of its
// ranks. A training with another number of ranks, or stage of ZeRO, takes from the file the parts that its ranks hold.
//
// Tensors, in the types they have in the run: parameters and buffers under their names; the optimizer's state of a
// parameter as NAME.exp_avg and so on; a dynamic loss scale and its steps without a skip. Metadata: the steps done,
// which are the position in the data and in the learning rates; the seed, which with the step is the whole state of our
// random numbers (they are keyed); the optimizer's numbers; the chain of digests; how many ranks wrote it; its owner;
// and a checksum over all of that and every tensor. Files are written beside their name, synced and renamed, so one
// that is there is complete or was damaged later.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include "kernels/digest/digest.hpp"
#include "matrix/contract/knob.hpp"
#include "suites/worker/record/tensor_file.hpp"
#include "suites/worker/state/optimizer.hpp"
#include "suites/worker/state/whole_state.hpp"

namespace reprobench {

class TrainState;

// The training that a state belongs to: a run resumes only from a checkpoint that agrees in all of these.
struct CheckpointOwner {
  std::string model;
  std::string preset;
  std::string workload_digest;
  KnobValues knobs;  // as resolved
};

struct CheckpointPosition {
  std::int64_t steps_done = 0;
  Digest chain;            // the chain of all ranks: chain_of_ranks()
  std::string written_by;  // the nonce of the attempt
  std::int64_t ranks = 1;  // how many wrote it together
};

// Why no run resumes from a file; what() begins with a word: "unreadable" (such as a cut file), "changed", "foreign".
class CheckpointRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// `tensors` are all tensors of the state, whole, on the host, in any order. Returns the checksum of the file.
Digest write_checkpoint(const std::filesystem::path& path, const NamedTensors& tensors, const OptimizerNumbers& numbers,
                        const CheckpointOwner& owner, const CheckpointPosition& position);

// The parts that restore() leaves as they are, to plant a fault; usually none.
struct LeftOut {
  bool parameters = false;
  bool optimizer = false;
  bool buffers = false;
  bool scaler = false;
  bool places = false;  // of shards: each takes the elements one before its own
};

// A file that was read and found to be whole and this run's. Nothing of the run has changed until restore().
class Checkpoint {
 public:
  // Throws CheckpointRefused.
  Checkpoint(const std::filesystem::path& path, const TrainState& state, const CheckpointOwner& owner);

  const CheckpointPosition& position() const { return position_; }
  const Digest& checksum() const { return checksum_; }
  // Overwrites the part of the state that this rank holds by the file's.
  void restore(TrainState& state, const LeftOut& left_out) const;
  const at::Tensor& tensor(const std::string& name) const;

 private:
  void check_owner(const CheckpointOwner& owner) const;
  void check_tensors(const TrainState& state) const;
  void read_position(const TrainState& state);
  const std::string& metadata(const std::string& key) const;
  std::int64_t count_in(const std::string& key) const;

  TensorFile file_;
  CheckpointPosition position_;
  Digest checksum_;
  std::map<std::string, double> numbers_;
};

}  // namespace reprobench

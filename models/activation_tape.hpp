// The memory that a step takes beside its state. A model writes down the tensors that its forward pass makes, and which
// of them autograd saves. From that follows how much is alive at any moment of the forward and the backward pass.
// Nothing is computed or allocated, so a preset far too large for the machine is written down in microseconds.
//
//   ActivationTape tape;
//   const auto hidden = tape.make(batch * 128, {}, {}, weights);   // linear of a field: the batch is no part of it
//   const auto active = tape.make(batch * 128, {hidden});
//   tape.save(active, active);                                     // relu saves its result
//
// A tensor lives from the call that makes it to the last one that reads it; if a call saved it for its own backward
// pass, until that has run. Its gradient lives from the backward pass of the last call that read it to that of the call
// that made it. A tensor that a trace of every tensor shows lives, with its gradient, until the step is over.
#pragma once

#include <cstdint>
#include <vector>

namespace reprobench {

// The elements that are alive at the moment of a step at which there are most.
struct LiveElements {
  std::int64_t activations = 0;  // values, and gradients of values
  std::int64_t gradients = 0;    // gradients of parameters, by then

  std::int64_t total() const { return activations + gradients; }
};

// How a step is carried out.
struct StepShape {
  bool traces_tensors = false;
  bool computes_blocks_again = false;  // gradient checkpointing
  std::int64_t micro_batches = 1;      // the tape is of one; the batch of a step is of all
};

class ActivationTape {
 public:
  using Id = int;
  static constexpr Id kNone = -1;  // a field, a parameter, a table: no part of the tape

  // Adds the tensor that the next call makes of `read`. `saved` are the tensors among these that its backward pass
  // needs; `gradients` are the elements of trained parameters that get their gradient there.
  Id make(std::int64_t elements, std::vector<Id> read, std::vector<Id> saved = {}, std::int64_t gradients = 0,
          bool has_gradient = true);
  void save(Id maker, Id tensor);  // `tensor` is needed in the backward pass of the call that made `maker`
  void scratch(Id maker, std::int64_t elements);  // lives only during the backward pass of that call
  void share_gradient(Id maker);  // its parameter has another call's gradient, to which this call's is added
  void show(Id tensor);           // a trace of every tensor shows it
  void hold(Id tensor);           // it lives until the step is over, whatever is traced
  void hold_outputs(Id tensor);   // they live until the next forward pass has made others

  // The tensors made between these two calls are a block, which is made of `inputs`. A block in a block is a part of
  // the outer one.
  void begin_block(const std::vector<Id>& inputs);
  void end_block();

  bool is_empty() const { return tensors_.empty(); }
  bool has_blocks() const { return !blocks_.empty(); }
  LiveElements peak(const StepShape& shape) const;

 private:
  friend class TapeWalk;
  struct Block {
    std::size_t first = 0;  // call
    std::size_t end = 0;
    std::vector<Id> inputs;
  };
  struct Tensor {  // a tensor and the call that made it, which have one index
    std::int64_t elements = 0;
    bool has_gradient = true;
    bool is_shown = false;
    bool is_held = false;
    std::vector<Id> read;
    std::vector<Id> saved;
    std::int64_t parameter_gradients = 0;
    std::int64_t scratch = 0;
  };
  std::vector<Tensor> tensors_;
  std::vector<Block> blocks_;
  int open_blocks_ = 0;
  Id outputs_ = kNone;
};

// The tape of a model whose outputs, kept until the step is over, go into a cross entropy.
ActivationTape with_cross_entropy(ActivationTape tape, ActivationTape::Id outputs, std::int64_t elements);

}  // namespace reprobench

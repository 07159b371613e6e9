#include "models/activation_tape.hpp"

#include <algorithm>
#include <utility>

namespace reprobench {
namespace {

std::size_t place(ActivationTape::Id id) { return static_cast<std::size_t>(id); }

}  // namespace

ActivationTape::Id ActivationTape::make(std::int64_t elements, std::vector<Id> read, std::vector<Id> saved,
                                        std::int64_t gradients, bool has_gradient) {
  std::erase(read, kNone);
  std::erase(saved, kNone);
  tensors_.push_back({elements, has_gradient, false, false, std::move(read), std::move(saved), gradients, 0});
  return static_cast<Id>(tensors_.size()) - 1;
}

void ActivationTape::save(Id maker, Id tensor) {
  if (maker != kNone && tensor != kNone) tensors_[place(maker)].saved.push_back(tensor);
}
void ActivationTape::scratch(Id maker, std::int64_t elements) {
  if (maker != kNone) tensors_[place(maker)].scratch = elements;
}
void ActivationTape::share_gradient(Id maker) {
  if (maker == kNone) return;
  Tensor& call = tensors_[place(maker)];
  call.scratch += std::exchange(call.parameter_gradients, 0);
}
void ActivationTape::show(Id tensor) {
  if (tensor != kNone) tensors_[place(tensor)].is_shown = true;
}
void ActivationTape::hold(Id tensor) {
  if (tensor != kNone) tensors_[place(tensor)].is_held = true;
}

void ActivationTape::hold_outputs(Id tensor) {
  hold(tensor);
  outputs_ = tensor;
}

void ActivationTape::begin_block(const std::vector<Id>& inputs) {
  if (open_blocks_++ > 0) return;
  blocks_.push_back({tensors_.size(), 0, inputs});
  std::erase(blocks_.back().inputs, kNone);
}
void ActivationTape::end_block() {
  if (--open_blocks_ > 0) return;
  blocks_.back().end = tensors_.size();
  if (blocks_.back().first == blocks_.back().end) blocks_.pop_back();
}

// One step gone through: when each tensor goes, and what is alive at every call.
class TapeWalk {
 public:
  TapeWalk(const ActivationTape& tape, const StepShape& shape)
      : tensors_(tape.tensors_),
        blocks_(shape.computes_blocks_again ? tape.blocks_ : std::vector<ActivationTape::Block>{}),
        shape_(shape),
        outputs_(tape.outputs_),
        block_of_(tensors_.size(), kNoBlock),
        last_read_(tensors_.size()),
        first_saved_by_(tensors_.size(), tensors_.size()),
        saved_again_by_(tensors_.size(), tensors_.size()),
        ends_forward_(tensors_.size()),
        ends_backward_(tensors_.size()) {
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
      for (std::size_t call = blocks_[block].first; call < blocks_[block].end; ++call) block_of_[call] = block;
    }
    find_ends();
  }

  LiveElements peak() {
    const bool has_earlier_outputs = shape_.micro_batches > 1 && outputs_ != ActivationTape::kNone;
    const std::int64_t earlier_outputs = has_earlier_outputs ? tensors_[place(outputs_)].elements : 0;
    level_.take((shape_.micro_batches - 1) * field_elements() + earlier_outputs);
    for (std::size_t call = 0; call < tensors_.size(); ++call) {
      level_.take(tensors_[call].elements);
      for (const std::size_t i : ends_forward_[call]) level_.give(tensors_[i].elements);
      if (has_earlier_outputs && call == place(outputs_)) level_.give(earlier_outputs);
    }
    go_back();
    if (shape_.micro_batches > 1) level_.take(largest_gradient());  // the first sum of two, beside both
    return level_.peak();
  }

 private:
  class Level {
   public:
    void take(std::int64_t elements) {
      now_.activations += elements;
      if (now_.total() > peak_.total()) peak_ = now_;
    }
    void give(std::int64_t elements) { now_.activations -= elements; }
    void take_gradients(std::int64_t elements) {
      now_.gradients += elements;
      take(0);
    }
    const LiveElements& peak() const { return peak_; }

   private:
    LiveElements now_;
    LiveElements peak_;
  };

  static constexpr std::size_t kNoBlock = static_cast<std::size_t>(-1);

  // Of a micro-batch; all of a step's are made at once.
  std::int64_t field_elements() const {
    std::int64_t elements = 0;
    for (const auto& made : tensors_) {
      if (made.read.empty() && made.is_held) elements += made.elements;
    }
    return elements;
  }

  std::int64_t largest_gradient() const {
    std::int64_t elements = 0;
    for (const auto& made : tensors_) elements = std::max(elements, made.parameter_gradients);
    return elements;
  }

  bool stays(std::size_t i) const { return tensors_[i].is_held || (shape_.traces_tensors && tensors_[i].is_shown); }

  // A call of a block saves nothing of the block's own at first, and of other tensors what goes into the block, which
  // stays as long as the block's first call may ask for it.
  void find_ends() {
    for (std::size_t call = 0; call < tensors_.size(); ++call) {
      last_read_[call] = call;
      for (const ActivationTape::Id read : tensors_[call].read) last_read_[place(read)] = call;
      const std::size_t block = block_of_[call];
      for (const ActivationTape::Id saved : tensors_[call].saved) {
        const bool is_of_block = block != kNoBlock && block_of_[place(saved)] == block;
        const std::size_t by = block == kNoBlock ? call : blocks_[block].first;
        std::size_t& first = is_of_block ? saved_again_by_[place(saved)] : first_saved_by_[place(saved)];
        first = std::min(first, is_of_block ? call : by);
      }
    }
    for (const ActivationTape::Block& block : blocks_) {
      for (const ActivationTape::Id input : block.inputs) {
        first_saved_by_[place(input)] = std::min(first_saved_by_[place(input)], block.first);
      }
    }
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (stays(i)) continue;
      const bool is_saved = first_saved_by_[i] < tensors_.size();
      (is_saved ? ends_backward_[first_saved_by_[i]] : ends_forward_[last_read_[i]]).push_back(i);
    }
  }

  // The calls of a block once more: what none of them saves goes with its last reader in the block.
  void compute_again(const ActivationTape::Block& block) {
    std::vector<std::vector<std::size_t>> ends(block.end - block.first);
    for (std::size_t i = block.first; i < block.end; ++i) {
      if (saved_again_by_[i] < tensors_.size()) {
        ends_again_[saved_again_by_[i]].push_back(i);
      } else {
        ends[std::min(last_read_[i], block.end - 1) - block.first].push_back(i);
      }
    }
    for (std::size_t call = block.first; call < block.end; ++call) {
      level_.take(tensors_[call].elements);
      for (const std::size_t i : ends[call - block.first]) level_.give(tensors_[i].elements);
    }
  }

  void take_gradient(std::size_t i) {
    if (!tensors_[i].has_gradient || has_its_gradient_[i]) return;
    has_its_gradient_[i] = true;
    level_.take(tensors_[i].elements);
  }

  void go_back() {
    has_its_gradient_.assign(tensors_.size(), false);
    ends_again_.resize(tensors_.size());
    for (std::size_t call = tensors_.size(); call-- > 0;) {
      const auto& made = tensors_[call];
      const std::size_t block = block_of_[call];
      const bool begins_block = block != kNoBlock && call + 1 == blocks_[block].end && made.has_gradient;
      if (made.has_gradient) take_gradient(call);  // the loss's own; any other is there
      if (begins_block) compute_again(blocks_[block]);
      if (made.has_gradient) {
        level_.take(made.scratch);
        for (const ActivationTape::Id read : made.read) take_gradient(place(read));
        level_.take_gradients(made.parameter_gradients);
        level_.give(made.scratch);
        if (!shape_.traces_tensors || !made.is_shown) level_.give(made.elements);
      }
      for (const std::size_t i : ends_backward_[call]) level_.give(tensors_[i].elements);
      for (const std::size_t i : ends_again_[call]) level_.give(tensors_[i].elements);
    }
  }

  const std::vector<ActivationTape::Tensor>& tensors_;
  std::vector<ActivationTape::Block> blocks_;  // that are computed again
  StepShape shape_;
  ActivationTape::Id outputs_;
  std::vector<std::size_t> block_of_;        // each call
  std::vector<std::size_t> last_read_;       // by which call
  std::vector<std::size_t> first_saved_by_;  // the one whose backward pass comes last; their count: none
  std::vector<std::size_t> saved_again_by_;  // the same inside the block that made it
  std::vector<std::vector<std::size_t>> ends_forward_;
  std::vector<std::vector<std::size_t>> ends_backward_;
  std::vector<std::vector<std::size_t>> ends_again_;
  std::vector<bool> has_its_gradient_;
  Level level_;
};

LiveElements ActivationTape::peak(const StepShape& shape) const { return TapeWalk(*this, shape).peak(); }

ActivationTape with_cross_entropy(ActivationTape tape, ActivationTape::Id outputs, std::int64_t elements) {
  tape.hold_outputs(outputs);
  const auto logarithms = tape.make(elements, {outputs});
  tape.save(logarithms, logarithms);
  tape.hold(tape.make(1, {logarithms}, {logarithms}));
  return tape;
}

}  // namespace reprobench

#include "suites/worker/knobs/recomputed_block.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include "suites/worker/record/tensor_makers.hpp"

namespace reprobench {
namespace {

// One block of one forward pass; alive while a node of its graph is.
class ForgottenBlock {
 public:
  ForgottenBlock(const std::vector<at::Tensor>& inputs, BlockFunction again, TensorMakers* makers)
      : again_(std::move(again)), makers_(makers) {
    for (const at::Tensor& input : inputs) inputs_.push_back({input.variable_data(), input.requires_grad()});
  }

  // In the forward pass: the place of a tensor that a node would have saved.
  std::size_t leave_out(const at::Tensor& tensor) {
    shapes_.push_back({tensor.sizes().vec(), tensor.scalar_type()});
    if (makers_ != nullptr) memory_.push_back(tensor.storage().unsafeGetStorageImpl());
    return shapes_.size() - 1;
  }

  // Calls that still ran when a tensor was left out have ended.
  void end_forward() {
    for (const void* memory : memory_) made_by_.push_back(makers_->maker_of_memory(memory));
  }

  // In the backward pass.
  at::Tensor saved(std::size_t place) {
    if (!is_computed_again_) compute_again();
    return saved_.at(place);
  }

  void capture(const at::Tensor& tensor) { saved_.push_back(tensor.variable_data()); }

  void drop(std::size_t place) {
    if (place < saved_.size()) saved_[place].reset();
  }

 private:
  struct Input {
    at::Tensor value;  // without its graph
    bool requires_grad;
  };
  struct Shape {
    std::vector<std::int64_t> sizes;
    at::ScalarType type;

    bool operator==(const Shape&) const = default;
  };

  void compute_again();

  void tell_makers();

  BlockFunction again_;
  TensorMakers* makers_;
  std::vector<const void*> memory_;    // of a recorded step, by place: where a tensor lay,
  std::vector<std::int64_t> made_by_;  // and which call wrote it
  std::vector<Input> inputs_;
  std::vector<Shape> shapes_;
  std::vector<at::Tensor> saved_;
  bool is_computed_again_ = false;
};

// What this thread does with tensors that nodes save.
struct Saving {
  std::shared_ptr<ForgottenBlock> leaves_out;
  ForgottenBlock* captures = nullptr;
};
thread_local Saving saving;

class Exchanged {
 public:
  explicit Exchanged(Saving now) : before_(std::exchange(saving, std::move(now))) {}
  ~Exchanged() { saving = std::move(before_); }
  Exchanged(const Exchanged&) = delete;
  Exchanged& operator=(const Exchanged&) = delete;

 private:
  Saving before_;
};

void ForgottenBlock::compute_again() {
  is_computed_again_ = true;
  const c10::AutoGradMode with_graph(true);  // it is off in a backward pass
  std::vector<at::Tensor> inputs;
  for (const Input& input : inputs_) {
    inputs.push_back(input.value.variable_data());
    inputs.back().set_requires_grad(input.requires_grad);
  }
  {
    const Exchanged captures({nullptr, this});
    again_(inputs);
  }
  bool is_same = saved_.size() == shapes_.size();
  for (std::size_t i = 0; is_same && i < saved_.size(); ++i) {
    is_same = shapes_[i] == Shape{saved_[i].sizes().vec(), saved_[i].scalar_type()};
  }
  if (!is_same) {
    throw std::logic_error("a block that was computed again saved other tensors (" + std::to_string(saved_.size()) +
                           ") than in the forward pass (" + std::to_string(shapes_.size()) + ")");
  }
  tell_makers();
}

// Inputs and parameters lie where they lay, and their makers are known.
void ForgottenBlock::tell_makers() {
  for (std::size_t i = 0; i < made_by_.size(); ++i) {
    const bool lies_elsewhere = saved_[i].storage().unsafeGetStorageImpl() != memory_[i];
    if (lies_elsewhere && made_by_[i] >= 0) makers_->wrote(saved_[i], made_by_[i]);
  }
}

// In place of a tensor that a node of the forward pass saves.
class LaterAgain final : public torch::autograd::SavedVariableHooks {
 public:
  explicit LaterAgain(std::shared_ptr<ForgottenBlock> block) : block_(std::move(block)) {}
  ~LaterAgain() override { block_->drop(place_); }
  void call_pack_hook(const at::Tensor& tensor) override { place_ = block_->leave_out(tensor); }
  at::Tensor call_unpack_hook() override { return block_->saved(place_); }

 private:
  std::shared_ptr<ForgottenBlock> block_;
  std::size_t place_ = static_cast<std::size_t>(-1);
};

// Of the graph of a block that is computed again, which nobody differentiates.
class Captured final : public torch::autograd::SavedVariableHooks {
 public:
  explicit Captured(ForgottenBlock& block) : block_(block) {}
  void call_pack_hook(const at::Tensor& tensor) override { block_.capture(tensor); }
  at::Tensor call_unpack_hook() override { throw std::logic_error("the graph of a block computed again is used"); }

 private:
  ForgottenBlock& block_;
};

// LibTorch asks the engine how to save a tensor; its Python bindings give that answer in the same way.
class SavingEngine final : public torch::autograd::Engine {
 public:
  static Engine& instance() {
    static SavingEngine engine;
    return engine;
  }

  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    if (saving.captures != nullptr) return std::make_unique<Captured>(*saving.captures);
    if (saving.leaves_out != nullptr) return std::make_unique<LaterAgain>(saving.leaves_out);
    return nullptr;
  }
};

}  // namespace

at::Tensor compute_and_forget(const std::vector<at::Tensor>& inputs, const BlockFunction& compute,
                              const BlockFunction& again, TensorMakers* makers) {
  torch::autograd::set_default_engine_stub(&SavingEngine::instance);
  const auto block = std::make_shared<ForgottenBlock>(inputs, again, makers);
  const Exchanged leaves_out({block, nullptr});
  at::Tensor output = compute(inputs);
  block->end_forward();
  return output;
}

}  // namespace reprobench

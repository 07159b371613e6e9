// A model is a folder models/NAME/ whose model.cpp defines `const Model& instance()` in namespace
// `reprobench::model::NAME`. CMake turns the folders into the table behind models().
//
// A model declares its parameters and buffers, computes outputs and a loss from them and from a batch of named fields,
// and taps what a trace should show. It draws no random number, holds no state and owns no tensor. Initial values,
// order, optimizer and learning rates are the same code for all models, so two stacks cannot differ in them. This
// header is torch-free; only model.cpp sees LibTorch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/settings.hpp"
#include "models/activation_tape.hpp"
#include "models/optimizer_settings.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

struct Knob;  // matrix/contract/knob.hpp

struct ModelPreset {
  std::string_view name;
  std::int64_t parameters = 0;  // elements over all parameters, frozen ones included; no buffers
  std::int64_t batch_size = 0;  // the usual one; a request may ask for another
  OptimizerSettings optimizer = AdamSettings{};
  std::int64_t context_length = 0;  // tokens of a sample; 0: samples are no sequences
  RateSchedule schedule = ConstantRate{};
  std::int64_t image_side = 0;  // pixels; 0: the data set's own
  std::int64_t frames = 0;      // of a clip; 0: samples have none
};

// The operations that Model::flops_per_step() counts: two for every multiply-add of a matrix product, forward and
// backward. Element-wise work and recomputation do not count, and a causal mask saves nothing. For a decoder this is 6
// N + 12 L H Q T a token (Chowdhery et al. 2022, "PaLM", appendix B) with N the weights that enter matrix products.
inline constexpr std::string_view kFlopConvention = "matrix products, PaLM appendix B";

struct ParameterSpec {
  std::string name;  // "fc1.weight"
  std::vector<std::int64_t> shape;
  float init_scale = 0;  // standard deviation of the initial bell-shaped values
  float init_mean = 0;   // mean of the initial values; with scale 0 every element is this
  bool frozen = false;   // never trained: it gets no gradient, no optimizer state and no decay
};

// State that is not trained: running statistics, which forward() overwrites in place, or a table of constants. Buffers
// are in fp32, or in fp64 if the run computes in it.
struct BufferSpec {
  std::string name;  // "bn1.running_mean"
  std::vector<std::int64_t> shape;
  float initial = 0;               // of every element,
  std::vector<float> values = {};  // unless all elements are given here, row-major
};

// How publishers of trained weights of a network name its tensors in safetensors files. Their names are ours, with the
// exceptions given here.
struct PublishedNaming {
  // A tensor of theirs that is the same as one of ours: the output projection that is the embedding.
  struct Copy {
    std::string_view name;
    std::string_view of;  // ours
  };

  std::string_view by = {};                           // "Hugging Face GPT-2"; empty: nobody publishes such weights
  std::string_view prefix = {};                       // may precede each of their names: "transformer."
  std::span<const std::string_view> transposed = {};  // ends of names whose matrices they keep as (in, out)
  std::span<const std::string_view> constants = {};   // ends of their names of untrained tensors that we make
  std::span<const Copy> copies = {};
  std::span<const std::string_view> added = {};  // parts of our names that no file has: adapters, which begin as drawn
};

// The batch of a step, by the names of the data set's fields. Element types are the data set's; real numbers are fp64
// where the run computes in it.
class Batch {
 public:
  virtual ~Batch() = default;

  // (B, ...) of that field. Throws std::out_of_range for a name that the data set does not have.
  virtual const at::Tensor& field(std::string_view name) const = 0;
};

// Computes a block of a network from its inputs.
using BlockFunction = std::function<at::Tensor(const std::vector<at::Tensor>& inputs)>;

// The interface to the train loop that a model has during one step.
class StepContext {
 public:
  virtual ~StepContext() = default;
  virtual const ModelPreset& preset() const = 0;

  virtual const Settings& settings() const = 0;

  // A parameter by its index in Model::parameters(), a buffer by its index in Model::buffers().
  virtual const at::Tensor& parameter(std::size_t index) const = 0;
  virtual const at::Tensor& buffer(std::size_t index) const = 0;

  // Shows `value`, and later its gradient if it gets one, to the trace under `name`.
  virtual void tap(const at::Tensor& value, std::string_view name) = 0;

  // Discrete events, if the trace wants them. With `mask`, elements of the mask that are not zero take part in the
  // gradient. With `choice`, the largest element of the last dimension of `scores` is chosen.
  virtual void mask(const at::Tensor& mask, std::string_view event) = 0;
  virtual void choice(const at::Tensor& scores, std::string_view event) = 0;

  // Computes one of the blocks that a network is a stack of. With the knob `gradient_checkpointing` only its `inputs`
  // are kept, and the backward pass calls `compute` once more, after forward() has returned. So every tensor of this
  // pass that it needs must be among `inputs`, and everything else that it refers to must have been handed to keep().
  virtual at::Tensor block(const std::vector<at::Tensor>& inputs, const BlockFunction& compute) = 0;

  // Whether a drill wants `module` computed by other calls than the model's own, as `kind`
  // (matrix/contract/request.cpp) says: another decomposition, another constant. A module has the name under which it
  // is tapped.
  virtual bool plants(std::string_view kind, std::string_view module) {
    static_cast<void>(kind);
    static_cast<void>(module);
    return false;
  }

  // Keeps `network` alive until the backward pass is done.
  virtual void keep(std::shared_ptr<const void> network) = 0;
};

// The results of a forward pass, in an order of the model's own.
using Outputs = std::vector<at::Tensor>;

class Model {
 public:
  virtual ~Model() = default;

  virtual std::string_view name() const = 0;  // of its folder
  virtual std::string_view summary() const = 0;
  virtual std::span<const ModelPreset> presets() const = 0;
  virtual std::string_view dataset() const = 0;  // a folder of models/data/

  // The knobs that change what the model computes: they are part of the workload, so the workload digest covers their
  // values.
  virtual std::vector<const Knob*> knobs() const { return {}; }
  virtual std::vector<ParameterSpec> parameters(const ModelPreset& preset) const = 0;
  virtual std::vector<BufferSpec> buffers(const ModelPreset&) const { return {}; }
  virtual PublishedNaming published_naming() const { return {}; }
  // The operations of one training step, by kFlopConvention.
  virtual std::int64_t flops_per_step(const ModelPreset& preset, std::int64_t batch_size) const = 0;

  // The tensors that forward() and loss() make and autograd saves, in fp32 with attention written out. Empty if the
  // model does not declare them; then the memory of a step is not predicted.
  virtual ActivationTape activations(const ModelPreset&, std::int64_t /*batch_size*/) const { return {}; }

  // Returns the logits: (B, classes) for a classifier, (B, context, vocabulary) for a decoder. Taps each module's
  // output.
  virtual Outputs forward(const Batch& batch, StepContext& step) const = 0;

  // A scalar, the mean over the batch. `outputs` are forward()'s, with those of 16 bits widened to fp32.
  virtual at::Tensor loss(const Outputs& outputs, const Batch& batch) const = 0;
};

// All models, by folder name.
std::span<const Model* const> models();

}  // namespace reprobench

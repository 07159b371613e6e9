// Residual networks (He et al. 2016, "Deep Residual Learning") with batch normalization: 18 with two convolutions a
// block, 50 with three, its stride on the 3 x 3 one as torchvision has it. `tiny` is three convolutions in a row, which
// trains in seconds on one core. All read the handwritten digits, 28 x 28. The published sizes read them as three equal
// channels, with their 1,000 classes.
//
// Names are the published checkpoints'. A network is described once, in network(). Three readers of that description
// declare its parameters, count its products and compute it.
#include <algorithm>
#include <array>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include "models/model_spec.hpp"

namespace reprobench::model::resnet {
namespace {

constexpr std::int64_t kSide = 28;
constexpr double kMomentum = 0.1;  // of running statistics
constexpr double kEpsilon = 1e-5;

struct Size {
  ModelPreset preset;
  std::array<int, 4> blocks;  // of each stage; none: `tiny`
  std::int64_t expansion;     // of a block's last convolution: 4 where it has three
  std::int64_t channels;      // of an image
  std::int64_t classes;
};

// The paper's rate of 0.1 for batches of 256, in proportion to the batch.
constexpr SgdSettings kPublishedSgd{.learning_rate = 0.0125, .momentum = 0.9, .weight_decay = 1e-4};

constexpr Size kSizes[] = {
    {{"tiny", 6'274, 32, SgdSettings{.learning_rate = 0.1}, 0, ConstantRate{}, kSide}, {}, 1, 1, 10},
    {{"18", 11'689'512, 32, kPublishedSgd, 0, WarmupCosine{5}, kSide}, {2, 2, 2, 2}, 1, 3, 1000},
    {{"50", 25'557'032, 32, kPublishedSgd, 0, WarmupCosine{5}, kSide}, {3, 4, 6, 3}, 4, 3, 1000}};
constexpr ModelPreset kPresets[] = {kSizes[0].preset, kSizes[1].preset, kSizes[2].preset};

const Size& size_of(const ModelPreset& preset) {
  return *std::ranges::find(kSizes, preset.name, [](const Size& size) { return size.preset.name; });
}

struct Convolution {
  std::string name;
  std::int64_t out;
  std::int64_t kernel;
  std::int64_t stride = 1;
  std::int64_t padding() const { return kernel / 2; }
};

// A block's path and its shortcut; `x` has `in` channels, the result out * expansion.
template <class Layers, class Value>
Value block(Layers& layers, const Value& x, const std::string& name, const Size& size, std::int64_t in,
            std::int64_t out, std::int64_t stride) {
  const std::int64_t wide = out * size.expansion;
  Value path = x;
  if (size.expansion == 1) {
    path = layers.relu(layers.norm(layers.convolve(path, {name + ".conv1", out, 3, stride}), name + ".bn1"),
                       name + ".relu1");
    path = layers.norm(layers.convolve(path, {name + ".conv2", out, 3}), name + ".bn2");
  } else {
    path = layers.relu(layers.norm(layers.convolve(path, {name + ".conv1", out, 1}), name + ".bn1"), name + ".relu1");
    path = layers.relu(layers.norm(layers.convolve(path, {name + ".conv2", out, 3, stride}), name + ".bn2"),
                       name + ".relu2");
    path = layers.norm(layers.convolve(path, {name + ".conv3", wide, 1}), name + ".bn3");
  }
  Value shortcut = x;
  if (stride != 1 || in != wide) {
    shortcut =
        layers.norm(layers.convolve(shortcut, {name + ".downsample.0", wide, 1, stride}), name + ".downsample.1");
  }
  return layers.relu(layers.add(path, shortcut), name);
}

// images -> logits
template <class Layers, class Value>
Value network(Layers& layers, Value x, const Size& size) {
  const auto unit = [&](const Value& value, const std::string& number, const Convolution& convolution) {
    return layers.relu(layers.norm(layers.convolve(value, convolution), "bn" + number), "relu" + number);
  };
  if (size.blocks[0] == 0) {
    x = unit(x, "1", {"conv1", 8, 3});
    x = unit(x, "2", {"conv2", 16, 3, 2});
    x = unit(x, "3", {"conv3", 32, 3, 2});
    return layers.classify(x, size.classes);
  }
  x = layers.pool(unit(x, "1", {"conv1", 64, 7, 2}));
  std::int64_t in = 64;
  for (std::size_t stage = 0; stage < size.blocks.size(); ++stage) {
    const std::int64_t out = std::int64_t{64} << stage;
    for (int i = 0; i < size.blocks[stage]; ++i) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
      x = block(layers, x, name, size, in, out, stage > 0 && i == 0 ? 2 : 1);
      in = out * size.expansion;
    }
  }
  return layers.classify(x, size.classes);
}

// What flows through the network where nothing is computed.
struct Shape {
  std::int64_t channels;
  std::int64_t side;
  ActivationTape::Id id = ActivationTape::kNone;

  std::int64_t elements() const { return channels * side * side; }
};

// Parameters, buffers, the multiply-adds of one forward pass of one image, and what a step makes of `batch_size` of
// them.
class Declaration {
 public:
  explicit Declaration(std::int64_t batch_size = 1) : batch_size_(batch_size) {}

  Shape images(const Shape& image) {
    const Shape made = result(image, {}, {}, 0, /*has_gradient=*/false);
    tape.hold(made.id);
    return made;
  }
  Shape convolve(const Shape& x, const Convolution& c) {
    // He et al. 2015 by the outputs, as torchvision has it.
    const auto fan_out = static_cast<double>(c.out * c.kernel * c.kernel);
    parameters.push_back(
        {c.name + ".weight", {c.out, x.channels, c.kernel, c.kernel}, static_cast<float>(std::sqrt(2 / fan_out))});
    const std::int64_t side = (x.side + 2 * c.padding() - c.kernel) / c.stride + 1;
    products.push_back(c.out * x.channels * c.kernel * c.kernel * side * side);
    const Shape out = result({c.out, side}, {x.id}, {x.id}, c.out * x.channels * c.kernel * c.kernel);
    tape.scratch(out.id, blocked_elements(out) + (products.size() > 1 ? blocked_elements(x) : 0));
    return shown(out);
  }
  Shape norm(const Shape& x, const std::string& name) {
    parameters.push_back({name + ".weight", {x.channels}, 0, 1});
    parameters.push_back({name + ".bias", {x.channels}});
    buffers.push_back({name + ".running_mean", {x.channels}});
    buffers.push_back({name + ".running_var", {x.channels}, 1});
    return shown(result(x, {x.id}, {x.id}, 2 * x.channels));
  }
  Shape relu(const Shape& x, const std::string&) {
    const Shape active = result(x, {x.id}, {});
    tape.save(active.id, active.id);
    return shown(active);
  }
  Shape add(const Shape& x, const Shape& shortcut) { return result(x, {x.id, shortcut.id}, {}); }
  Shape pool(const Shape& x) {
    const Shape largest = shown(result({x.channels, (x.side - 1) / 2 + 1}, {x.id}, {x.id}));
    // Where they stood, as whole numbers of twice the bytes.
    const auto places = tape.make(2 * batch_size_ * largest.elements(), {}, {}, 0, /*has_gradient=*/false);
    tape.save(largest.id, places);
    return largest;
  }
  Shape classify(const Shape& x, std::int64_t classes) {
    parameters.push_back(
        {"fc.weight", {classes, x.channels}, static_cast<float>(std::sqrt(1.0 / static_cast<double>(x.channels)))});
    parameters.push_back({"fc.bias", {classes}});
    products.push_back(classes * x.channels);
    const Shape means = shown(result({x.channels, 1}, {x.id}, {}));
    return shown(result({classes, 1}, {means.id}, {means.id}, classes * (x.channels + 1)));
  }

  ActivationTape tape;
  std::vector<ParameterSpec> parameters;
  std::vector<BufferSpec> buffers;
  std::vector<std::int64_t> products;  // of each layer that has some, the first one first

 private:
  // oneDNN turns what it reads in the backward pass into blocks of 16 channels.
  std::int64_t blocked_elements(const Shape& x) const {
    return batch_size_ * ((x.channels + 15) / 16 * 16) * x.side * x.side;
  }
  Shape result(Shape of, std::vector<ActivationTape::Id> read, std::vector<ActivationTape::Id> saved,
               std::int64_t gradients = 0, bool has_gradient = true) {
    of.id = tape.make(batch_size_ * of.elements(), std::move(read), std::move(saved), gradients, has_gradient);
    return of;
  }
  Shape shown(const Shape& x) {
    tape.show(x.id);
    return x;
  }

  std::int64_t batch_size_;
};

Declaration declared(const ModelPreset& preset) {
  Declaration declaration;
  const Size& size = size_of(preset);
  network(declaration, Shape{size.channels, preset.image_side}, size);
  return declaration;
}

// One step. It takes parameters and buffers in the order they were declared in. B: batch, C: channels, S: side.
class Pass {
 public:
  explicit Pass(StepContext& step) : step_(step) {}

  // (B, C, S, S) -> (B, out, S', S')
  at::Tensor convolve(const at::Tensor& x, const Convolution& c) {
    return tapped(at::conv2d(x, parameter(), {}, c.stride, c.padding()), c.name);
  }
  at::Tensor norm(const at::Tensor& x, const std::string& name) {
    const at::Tensor& weight = parameter();
    const at::Tensor& bias = parameter();
    const at::Tensor& mean = step_.buffer(next_buffer_++);
    const at::Tensor& variance = step_.buffer(next_buffer_++);
    return tapped(at::batch_norm(x, weight, bias, mean, variance, /*training=*/true, kMomentum, kEpsilon,
                                 /*cudnn_enabled=*/true),
                  name);
  }
  at::Tensor relu(const at::Tensor& x, const std::string& name) {
    const at::Tensor active = tapped(at::relu(x), name);
    step_.mask(active, name + ".active");
    return active;
  }
  at::Tensor add(const at::Tensor& path, const at::Tensor& shortcut) const { return path + shortcut; }
  at::Tensor pool(const at::Tensor& x) { return tapped(at::max_pool2d(x, 3, 2, 1), "maxpool"); }
  // (B, C, S, S) -> (B, classes)
  at::Tensor classify(const at::Tensor& x, std::int64_t) {
    const at::Tensor means = tapped(x.mean({2, 3}), "avgpool");
    const at::Tensor& weight = parameter();
    const at::Tensor logits = tapped(at::linear(means, weight, parameter()), "fc");
    step_.choice(logits, "predicted_class");
    return logits;
  }

 private:
  const at::Tensor& parameter() { return step_.parameter(next_parameter_++); }
  at::Tensor tapped(at::Tensor value, const std::string& name) {
    step_.tap(value, name);
    return value;
  }

  StepContext& step_;
  std::size_t next_parameter_ = 0;
  std::size_t next_buffer_ = 0;
};

// torchvision also counts batches, which nothing reads where a momentum is given.
constexpr std::string_view kCounters[] = {".num_batches_tracked"};
constexpr PublishedNaming kNaming{.by = "torchvision ResNet", .constants = kCounters};

class Resnet final : public Model {
 public:
  std::string_view name() const override { return "resnet"; }
  std::string_view summary() const override {
    return "residual convolutions with batch normalization (tiny: three of them; 18 and 50 as published), handwritten "
           "digits";
  }
  std::span<const ModelPreset> presets() const override { return kPresets; }
  std::string_view dataset() const override { return "digits"; }
  PublishedNaming published_naming() const override { return kNaming; }

  std::vector<ParameterSpec> parameters(const ModelPreset& preset) const override {
    return declared(preset).parameters;
  }
  std::vector<BufferSpec> buffers(const ModelPreset& preset) const override { return declared(preset).buffers; }

  std::int64_t flops_per_step(const ModelPreset& preset, std::int64_t batch_size) const override {
    // Three products a layer; the first needs no gradient of its input.
    const Declaration declaration = declared(preset);
    std::int64_t sum = -declaration.products.front();
    for (const std::int64_t product : declaration.products) sum += 3 * product;
    return 2 * batch_size * sum;
  }

  ActivationTape activations(const ModelPreset& preset, std::int64_t batch_size) const override {
    const Size& size = size_of(preset);
    Declaration declaration(batch_size);
    const Shape images = declaration.images({size.channels, preset.image_side});
    const Shape logits = network(declaration, images, size);
    return with_cross_entropy(std::move(declaration.tape), logits.id, batch_size * size.classes);
  }

  Outputs forward(const Batch& batch, StepContext& step) const override {
    const Size& size = size_of(step.preset());
    const at::Tensor& pixels = batch.field("input");                                                   // (B, 784)
    const at::Tensor images = pixels.view({-1, 1, kSide, kSide}).expand({-1, size.channels, -1, -1});  // (B, C, 28, 28)
    Pass pass(step);
    return {network(pass, images, size)};
  }

  at::Tensor loss(const Outputs& outputs, const Batch& batch) const override {
    return at::cross_entropy_loss(outputs.front(), batch.field("target"));
  }
};

}  // namespace

const Model& instance();
const Model& instance() {
  static const Resnet kModel;
  return kModel;
}

}  // namespace reprobench::model::resnet

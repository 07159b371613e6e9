// Outputs of native_batch_norm(x, weight, bias, running mean and variance, true, momentum, epsilon) and of its backward
// pass (dy, x, weight, running mean and variance, mean, 1 / sigma, true, epsilon, mask), in fp32 and row-major.
#include <algorithm>
#include <optional>
#include <utility>

#include "matrix/orders/call_arguments.hpp"
#include "matrix/orders/channel_norm.hpp"
#include "matrix/orders/formed_families.hpp"
#include "matrix/orders/sum_layout.hpp"

namespace reprobench {
namespace channel_norm_output {  // a unity build has several files in one
namespace {

enum class Part { y, mean, inverse_sigma, dx, of_weight, of_bias };

bool is_gradient(Part part) { return part >= Part::dx; }

struct ChannelForms {
  ChannelScaleForm scale;
  ChannelGradientForm gradient;
};

// All forms of this part's bits; what does not decide them keeps its first value.
std::vector<ChannelForms> all_forms(Part part) {
  std::vector<ChannelForms> forms;
  if (!is_gradient(part)) {
    for (const bool shift : {true, false}) {
      for (const bool element : {true, false}) {
        if (part == Part::y || (shift && element)) forms.push_back({{shift, element}, {}});
      }
    }
    return forms;
  }
  for (const LaneForm& lanes : lane_forms(part != Part::of_bias)) {
    for (const bool wide : {true, false}) {
      for (const bool element : {true, false}) {
        if (part == Part::dx || element) forms.push_back({{}, {lanes, wide, element}});
      }
    }
  }
  return forms;
}

std::string text_of(Part part, const ChannelForms& form) {
  if (part == Part::mean) return "batch_norm mean";
  if (part == Part::inverse_sigma) return "batch_norm root";
  if (part == Part::y) {
    return std::string("batch_norm y shift=") + fused_letter(form.scale.shift_fused) +
           " element=" + fused_letter(form.scale.element_fused);
  }
  const std::string name = part == Part::dx ? "x " : part == Part::of_weight ? "weight " : "bias ";
  const std::string text = "dbatch_norm " + name + lane_text(form.gradient.sums, part != Part::of_bias) +
                           (form.gradient.wide ? " wide" : " narrow");
  return part == Part::dx ? text + " element=" + fused_letter(form.gradient.element_fused) : text;
}

std::string shape_of(Part part, const ChannelForms& form) {
  if (part == Part::mean) return "elements one after the other in fp64";
  if (part == Part::inverse_sigma) return "mean and squares one after the other in fp64";
  if (part == Part::y) {
    const auto& [shift, element] = form.scale;
    if (shift == element) return element ? "x alpha + beta, fused" : "x alpha + beta, not fused";
    return element ? "x alpha + beta, fused but in beta" : "x alpha + beta, not fused but in beta";
  }
  const std::string text = "images in " + lane_shape(form.gradient.sums, part != Part::of_bias) +
                           (form.gradient.wide ? ", then in fp64" : ", then in fp32");
  if (part != Part::dx) return text;
  return text + (form.gradient.element_fused ? "; each element fused" : "; no element fused");
}

struct ChannelPlaces {
  std::int64_t images = 0;
  std::int64_t channels = 0;
  std::int64_t pixels = 0;
  int x = 0;
  std::optional<int> weight;
  std::optional<int> bias;
  std::optional<int> dy;
  std::optional<int> mean;  // of a backward call, and 1 / sigma
  std::optional<int> inverse_sigma;
  double epsilon = 0;
};

class ChannelNormOutput : public FormedOutput {
 public:
  ChannelNormOutput(const ChannelPlaces& places, Part part) : places_(places), part_(part), forms_(all_forms(part)) {}

  std::int64_t elements() const override { return is_whole() ? operand_elements() : places_.channels; }
  std::int64_t terms() const override { return places_.images * places_.pixels; }
  std::int64_t units() const override { return places_.channels; }
  std::size_t forms() const override { return forms_.size(); }
  std::string text(std::size_t form) const override { return behind_moments() + text_of(part_, forms_[form]); }
  std::string shape(std::size_t form) const override { return shape_of(part_, forms_[form]); }

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    const ChannelForms& as = forms_[form];
    const auto channel = static_cast<std::size_t>(unit);
    const auto of_channel = [&](const std::optional<int>& tensor, float otherwise) {
      return tensor ? tensors[static_cast<std::size_t>(*tensor)][channel] : otherwise;
    };
    const ChannelImages x = images_of(tensors, places_.x, unit);
    const ChannelMoments moments =
        places_.mean ? ChannelMoments{of_channel(places_.mean, 0), of_channel(places_.inverse_sigma, 0)}
                     : channel_moments(x, places_.epsilon);
    const float weight = of_channel(places_.weight, 1);
    if (part_ == Part::mean) made.push_back({unit, moments.mean});
    if (part_ == Part::inverse_sigma) made.push_back({unit, moments.inverse_sigma});
    if (part_ == Part::y) {
      const float bias = of_channel(places_.bias, 0);
      add_elements(unit, made, [&](std::size_t image, std::size_t i) {
        return channel_scaled(x[image][i], moments, weight, bias, as.scale);
      });
    }
    if (!is_gradient(part_)) return;
    const ChannelImages dy = images_of(tensors, *places_.dy, unit);
    const ChannelSums sums = channel_sums(x, dy, moments, as.gradient);
    if (part_ == Part::of_weight) made.push_back({unit, sums.of_weight});
    if (part_ == Part::of_bias) made.push_back({unit, sums.of_dy});
    if (part_ != Part::dx) return;
    add_elements(unit, made, [&](std::size_t image, std::size_t i) {
      return channel_gradient(x[image][i], dy[image][i], moments, sums, weight, as.gradient);
    });
  }

  // Every other channel cancels, and each has elements whose own gradient is 0, together with what would cancel them:
  // these show the sums alone. In every third round a mean is far above the spread.
  void make_kind(std::int64_t round, Tensors& tensors) const override {
    constexpr float kFar = 64;
    const std::int64_t half = places_.pixels / 2;  // of at least two
    std::vector<float>& x = tensors[static_cast<std::size_t>(places_.x)];
    std::vector<float>* dy = places_.dy ? &tensors[static_cast<std::size_t>(*places_.dy)] : nullptr;
    for (std::int64_t element = 0; element < operand_elements(); ++element) {
      const std::int64_t pixel = element % places_.pixels;
      const std::int64_t plane = element / places_.pixels;  // one image of one channel
      const auto at = static_cast<std::size_t>(element);
      if (round % 3 == 1) x[at] += kFar;
      if (dy == nullptr) continue;
      if ((plane % places_.channels + round) % 2 == 1 && pixel >= half && pixel < 2 * half) {
        (*dy)[at] = -(*dy)[at - static_cast<std::size_t>(half)];
        x[at] = x[at - static_cast<std::size_t>(half)];
      }
      if ((plane + pixel % half + round) % 5 == 0) (*dy)[at] = 0;
    }
  }

 private:
  bool is_whole() const { return part_ == Part::y || part_ == Part::dx; }
  std::int64_t operand_elements() const { return places_.images * places_.channels * places_.pixels; }

  // The gradient of a forward call takes the moments of that call.
  std::string behind_moments() const {
    return is_gradient(part_) && !places_.mean ? "batch_norm root" + std::string(kThen) : "";
  }

  std::size_t first_of(std::int64_t image, std::int64_t channel) const {
    return static_cast<std::size_t>((image * places_.channels + channel) * places_.pixels);
  }

  ChannelImages images_of(const Tensors& tensors, int tensor, std::int64_t channel) const {
    ChannelImages images;
    for (std::int64_t image = 0; image < places_.images; ++image) {
      images.push_back(std::span(tensors[static_cast<std::size_t>(tensor)])
                           .subspan(first_of(image, channel), static_cast<std::size_t>(places_.pixels)));
    }
    return images;
  }

  template <typename Element>
  void add_elements(std::int64_t channel, std::vector<Value>& made, Element&& element) const {
    for (std::int64_t image = 0; image < places_.images; ++image) {
      const std::size_t first = first_of(image, channel);
      for (std::size_t i = 0; i < static_cast<std::size_t>(places_.pixels); ++i) {
        made.push_back({static_cast<std::int64_t>(first + i), element(static_cast<std::size_t>(image), i)});
      }
    }
  }

  ChannelPlaces places_;
  Part part_;
  std::vector<ChannelForms> forms_;
};

constexpr std::string_view kForward = "native_batch_norm";
constexpr std::string_view kBackward = "native_batch_norm_backward";

// Places of the arguments.
struct ArgumentPlaces {
  std::size_t x, weight, is_training, epsilon;
};
constexpr ArgumentPlaces kOfForward = {0, 1, 5, 7};
constexpr ArgumentPlaces kOfBackward = {1, 2, 7, 8};
constexpr std::size_t kBias = 2;  // of the forward call
constexpr std::size_t kMean = 5;
constexpr std::size_t kInverseSigma = 6;

bool has(std::string_view name) { return name == kForward || name == kBackward; }

std::optional<Part> part_of(std::string_view output, bool backward) {
  constexpr std::pair<std::string_view, Part> kForwardParts[] = {
      {"output.0", Part::y},    {"output.1", Part::mean},        {"output.2", Part::inverse_sigma},
      {"gradient.0", Part::dx}, {"gradient.1", Part::of_weight}, {"gradient.2", Part::of_bias}};
  constexpr std::pair<std::string_view, Part> kBackwardParts[] = {
      {"output.0", Part::dx}, {"output.1", Part::of_weight}, {"output.2", Part::of_bias}};
  if (backward) {
    for (const auto& [name, part] : kBackwardParts) {
      if (name == output) return part;
    }
    return std::nullopt;
  }
  for (const auto& [name, part] : kForwardParts) {
    if (name == output) return part;
  }
  return std::nullopt;
}

bool is_of_channels(const DeclaredTensor* tensor, std::int64_t channels) {
  return tensor != nullptr && tensor->dtype == "f32" && product_of(tensor->shape) == channels;
}

bool is_plain(const DeclaredTensor* tensor) {
  return tensor != nullptr && tensor->dtype == "f32" && tensor->strides.empty();
}

// Of a training, whose images have several pixels: of one pixel ATen takes the loops of channels that lie last.
std::optional<ChannelPlaces> places_of(const CallArguments& call, const ArgumentPlaces& at) {
  const auto& arguments = call.call().arguments;
  const DeclaredTensor* x = call.tensor(at.x);
  if (!call.is_positional() || arguments.size() <= at.epsilon || !is_plain(x) || x->shape.size() < 3) {
    return std::nullopt;
  }
  const auto* is_training = std::get_if<bool>(&arguments[at.is_training].value);
  const auto* epsilon = std::get_if<double>(&arguments[at.epsilon].value);
  if (is_training == nullptr || !*is_training || epsilon == nullptr || product_of(x->shape) == 0) return std::nullopt;
  ChannelPlaces places;
  places.images = x->shape[0];
  places.channels = x->shape[1];
  places.pixels = product_of(x->shape) / places.images / places.channels;
  places.x = call.number(at.x);
  places.epsilon = *epsilon;
  if (places.pixels < 2 || places.channels < 2) return std::nullopt;
  if (call.tensor(at.weight) == nullptr) return places;
  if (!is_of_channels(call.tensor(at.weight), places.channels)) return std::nullopt;
  places.weight = call.number(at.weight);
  return places;
}

std::shared_ptr<const FormedOutput> output_of(const DeclaredCall& call, std::string_view output, std::string& why_not) {
  const bool backward = call.name == kBackward;
  const CallArguments arguments(call);
  auto places = places_of(arguments, backward ? kOfBackward : kOfForward);
  const auto part = part_of(output_of_schema(call, output), backward);
  why_not = "it is called in a way that is not known to be a batch norm of a training, in fp32 and row-major";
  if (!places || !part) return nullptr;
  if (backward) {
    const DeclaredTensor* dy = arguments.tensor(0);
    if (!is_plain(dy) || dy->shape != arguments.tensor(1)->shape) return nullptr;
    for (const std::size_t at : {kMean, kInverseSigma}) {
      if (!is_of_channels(arguments.tensor(at), places->channels)) return nullptr;
    }
    places->dy = arguments.number(0);
    places->mean = arguments.number(kMean);
    places->inverse_sigma = arguments.number(kInverseSigma);
  } else if (const DeclaredTensor* bias = arguments.tensor(kBias)) {
    if (!is_of_channels(bias, places->channels)) return nullptr;
    places->bias = arguments.number(kBias);
  }
  if (!backward && is_gradient(*part)) places->dy = arguments.seed();
  why_not.clear();
  return std::make_shared<ChannelNormOutput>(*places, *part);
}

std::vector<std::string> texts() {
  std::vector<std::string> all;
  for (const Part part : {Part::y, Part::mean, Part::inverse_sigma, Part::dx, Part::of_weight, Part::of_bias}) {
    for (const ChannelForms& form : all_forms(part)) {
      all.push_back(text_of(part, form));
      if (is_gradient(part)) all.push_back("batch_norm root" + std::string(kThen) + all.back());
    }
  }
  return all;
}

}  // namespace
}  // namespace channel_norm_output

const FormedFamily kChannelNormFamily = {&channel_norm_output::has, &channel_norm_output::output_of,
                                         &channel_norm_output::texts};

}  // namespace reprobench

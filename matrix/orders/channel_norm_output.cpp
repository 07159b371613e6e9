// Outputs of native_batch_norm(x, weight, bias, running mean and variance, true, momentum, epsilon) and of its backward
// pass (dy, x, weight, running mean and variance, mean, 1 / sigma, true, epsilon, mask), in fp32.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "matrix/orders/call_arguments.hpp"
#include "matrix/orders/channel_norm_forms.hpp"
#include "matrix/orders/formed_families.hpp"
#include "matrix/orders/sum_layout.hpp"

namespace reprobench {
namespace channel_norm_output {  // a unity build has several files in one
namespace {

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
  ChannelWay way = ChannelWay::by_channel;
};

class ChannelNormOutput : public FormedOutput {
 public:
  ChannelNormOutput(const ChannelPlaces& places, ChannelPart part)
      : places_(places), part_(part), forms_(channel_forms(part, places.way, places.mean.has_value())) {}

  std::int64_t elements() const override { return is_whole() ? operand_elements() : places_.channels; }
  std::int64_t terms() const override { return places_.images * places_.pixels; }
  std::int64_t units() const override { return places_.channels; }
  std::size_t forms() const override { return forms_.size(); }
  std::string text(std::size_t form) const override {
    return channel_text(part_, forms_[form], places_.mean.has_value());
  }
  std::string shape(std::size_t form) const override { return channel_shape(part_, forms_[form]); }

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    const ChannelForms& as = forms_[form];
    const auto channel = static_cast<std::size_t>(unit);
    const auto of_channel = [&](const std::optional<int>& tensor, float otherwise) {
      return tensor ? tensors[static_cast<std::size_t>(*tensor)][channel] : otherwise;
    };
    const ChannelImages x = images_of(tensors, places_.x, unit);
    const ChannelMoments moments =
        places_.mean ? ChannelMoments{of_channel(places_.mean, 0), of_channel(places_.inverse_sigma, 0)}
                     : channel_moments(x, places_.epsilon, as.moments);
    const float weight = of_channel(places_.weight, 1);
    if (part_ == ChannelPart::mean) made.push_back({unit, moments.mean});
    if (part_ == ChannelPart::inverse_sigma) made.push_back({unit, moments.inverse_sigma});
    if (part_ == ChannelPart::y) {
      const float bias = of_channel(places_.bias, 0);
      add_elements(unit, made, [&](std::size_t image, std::size_t i) {
        return channel_scaled(x[image][i], moments, weight, bias, as.scale);
      });
    }
    if (!is_gradient(part_)) return;
    const ChannelImages dy = images_of(tensors, *places_.dy, unit);
    const ChannelSums sums = channel_sums(x, dy, moments, as.gradient);
    if (part_ == ChannelPart::of_weight) made.push_back({unit, sums.of_weight});
    if (part_ == ChannelPart::of_bias) made.push_back({unit, sums.of_dy});
    if (part_ != ChannelPart::dx) return;
    add_elements(unit, made, [&](std::size_t image, std::size_t i) {
      return channel_gradient(x[image][i], dy[image][i], moments, sums, weight, as.gradient);
    });
  }

  // Every other channel cancels, and each has elements whose own gradient is 0, together with what would cancel them:
  // these show the sums alone. In every third round a mean is far above the spread.
  void make_kind(std::int64_t round, Tensors& tensors) const override {
    constexpr float kFar = 64;
    const std::int64_t half = std::max<std::int64_t>(1, places_.pixels / 2);
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
  bool is_whole() const { return part_ == ChannelPart::y || part_ == ChannelPart::dx; }
  std::int64_t operand_elements() const { return places_.images * places_.channels * places_.pixels; }

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
  ChannelPart part_;
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

std::optional<ChannelPart> part_of(std::string_view output, bool backward) {
  constexpr std::pair<std::string_view, ChannelPart> kForwardParts[] = {
      {"output.0", ChannelPart::y},    {"output.1", ChannelPart::mean},        {"output.2", ChannelPart::inverse_sigma},
      {"gradient.0", ChannelPart::dx}, {"gradient.1", ChannelPart::of_weight}, {"gradient.2", ChannelPart::of_bias}};
  constexpr std::pair<std::string_view, ChannelPart> kBackwardParts[] = {
      {"output.0", ChannelPart::dx}, {"output.1", ChannelPart::of_weight}, {"output.2", ChannelPart::of_bias}};
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

bool is_plain(const DeclaredTensor& tensor) { return tensor.strides.empty(); }

// Of a training.
std::optional<ChannelPlaces> places_of(const CallArguments& call, const ArgumentPlaces& at) {
  const auto& arguments = call.call().arguments;
  const DeclaredTensor* x = call.tensor(at.x);
  if (!call.is_positional() || arguments.size() <= at.epsilon || x == nullptr || x->dtype != "f32" ||
      x->shape.size() < 2) {
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
  if (!is_plain(*x)) places.way = ChannelWay::by_pixel;
  // One pixel lies like channels that come last, and one channel like pixels that do.
  if (is_plain(*x) && (places.pixels == 1 || places.channels == 1)) places.way = ChannelWay::either;
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
  why_not = "it is called in a way that is not known to be a batch norm of a training in fp32";
  if (!places || !part) return nullptr;
  if (backward) {
    const DeclaredTensor* dy = arguments.tensor(0);
    if (dy == nullptr || dy->dtype != "f32" || dy->shape != arguments.tensor(1)->shape) return nullptr;
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

bool has_text(std::string_view text) {
  static const std::set<std::string, std::less<>> kTexts = [] {
    std::set<std::string, std::less<>> all;
    for (const ChannelPart part : {ChannelPart::y, ChannelPart::mean, ChannelPart::inverse_sigma, ChannelPart::dx,
                                   ChannelPart::of_weight, ChannelPart::of_bias}) {
      for (const bool given : {false, true}) {
        for (const ChannelForms& form : channel_forms(part, ChannelWay::either, given)) {
          all.insert(channel_text(part, form, given));
        }
      }
    }
    return all;
  }();
  return kTexts.contains(text);
}

}  // namespace
}  // namespace channel_norm_output

const FormedFamily kChannelNormFamily = {&channel_norm_output::has, &channel_norm_output::output_of,
                                         &channel_norm_output::has_text};

}  // namespace reprobench

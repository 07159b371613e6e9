// Outputs of native_group_norm(x, weight, bias, images, channels, pixels, groups, epsilon) and of its backward pass
// (dy, x, mean, 1 / sigma, weight, images, channels, pixels, groups, mask), in fp32 and row-major.
#include <iterator>
#include <optional>

#include "matrix/orders/call_arguments.hpp"
#include "matrix/orders/channel_norm.hpp"
#include "matrix/orders/formed_families.hpp"
#include "matrix/orders/group_norm.hpp"
#include "matrix/orders/moments_output.hpp"

namespace reprobench {
namespace group_norm_output {  // a unity build has several files in one
namespace {

struct GroupPlaces {
  std::int64_t images = 0;
  std::int64_t channels = 0;
  std::int64_t pixels = 0;
  std::int64_t groups = 0;
  std::optional<int> weight;
  std::optional<int> bias;
  int dy = 0;

  std::int64_t channels_of_group() const { return channels / groups; }
  std::int64_t elements() const { return images * channels * pixels; }
};

// Without weight and bias (x - mean) / sigma is not fused at all.
const std::vector<ChannelScaleForm>& scale_forms_of(bool is_scaled) {
  static const std::vector<ChannelScaleForm> kScaled = {{true, true}, {false, false}, {true, false}, {false, true}};
  static const std::vector<ChannelScaleForm> kPlain = {{false, false}};
  return is_scaled ? kScaled : kPlain;
}

std::string scale_text(bool is_scaled, const ChannelScaleForm& form) {
  if (!is_scaled) return "group_norm y centred";
  return std::string("group_norm y shift=") + fused_letter(form.shift_fused) +
         " element=" + fused_letter(form.element_fused);
}

std::string scale_shape(bool is_scaled, const ChannelScaleForm& form) {
  if (!is_scaled) return "(x - mean) / sigma";
  return std::string("x alpha + beta, ") + (form.element_fused ? "fused" : "not fused") +
         (form.shift_fused == form.element_fused ? "" : " but in beta");
}

class GroupOutput : public OutputOnMoments {
 public:
  GroupOutput(const NormRows& rows, const GroupPlaces& places, const std::optional<GivenMoments>& given,
              std::size_t own_forms)
      : OutputOnMoments(rows, given, own_forms), places_(places) {}

 protected:
  const GroupPlaces& places() const { return places_; }

  // Of a group's first channel, and of those behind it.
  std::span<const float> of_channels(const std::optional<int>& tensor, const Tensors& tensors, std::int64_t row) const {
    if (!tensor) return {};
    const std::int64_t group = row % places_.groups;
    return std::span(tensors[static_cast<std::size_t>(*tensor)])
        .subspan(static_cast<std::size_t>(group * places_.channels_of_group()),
                 static_cast<std::size_t>(places_.channels_of_group()));
  }

 private:
  GroupPlaces places_;
};

class NormalisedGroups : public GroupOutput {
 public:
  NormalisedGroups(const NormRows& rows, const GroupPlaces& places)
      : GroupOutput(rows, places, {}, scale_forms_of(is_scaled(places)).size()) {}

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    const std::span<const float> x = rows().row_of(tensors, rows().x, unit);
    const RowMoments of_row = row_moments(x, moments_form(form));
    const ChannelMoments moments{of_row.mean, rows().inverse_sigma_of(of_row.variance)};
    const std::span<const float> weight = of_channels(places().weight, tensors, unit);
    const std::span<const float> bias = of_channels(places().bias, tensors, unit);
    const bool scaled = is_scaled(places());
    const ChannelScaleForm& as = scale_forms_of(scaled)[own_form(form)];
    std::vector<float> y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t channel = i / static_cast<std::size_t>(places().pixels);
      y[i] = scaled ? channel_scaled(x[i], moments, weight.empty() ? 1 : weight[channel],
                                     bias.empty() ? 0 : bias[channel], as)
                    : (x[i] - moments.mean) * moments.inverse_sigma;
    }
    add_row(unit, y, made);
  }

 protected:
  std::string own_text(std::size_t form) const override {
    return scale_text(is_scaled(places()), scale_forms_of(is_scaled(places()))[form]);
  }
  std::string own_shape(std::size_t form) const override {
    return scale_shape(is_scaled(places()), scale_forms_of(is_scaled(places()))[form]);
  }

 private:
  static bool is_scaled(const GroupPlaces& places) { return places.weight || places.bias; }
};

class GroupInputGradient : public GroupOutput {
 public:
  GroupInputGradient(const NormRows& rows, const GroupPlaces& places, const GivenMoments& given)
      : GroupOutput(rows, places, given, group_input_forms().size()) {}

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    const NormGroup group{rows().row_of(tensors, rows().x, unit), rows().row_of(tensors, places().dy, unit),
                          of_channels(places().weight, tensors, unit),
                          static_cast<std::size_t>(places().channels_of_group()), given_moments(tensors, unit)};
    std::vector<float> dx(group.x.size());
    group_input_gradient(group, group_input_forms()[own_form(form)], dx);
    add_row(unit, dx, made);
  }

 protected:
  std::string own_text(std::size_t form) const override { return group_text(group_input_forms()[form]); }
  std::string own_shape(std::size_t form) const override { return group_shape(group_input_forms()[form]); }
};

class GroupWeightGradient : public GroupOutput {
 public:
  GroupWeightGradient(const NormRows& rows, const GroupPlaces& places, const GivenMoments& given)
      : GroupOutput(rows, places, given, group_weight_forms().size()) {}

  std::int64_t elements() const override { return places().channels; }
  std::int64_t terms() const override { return places().images * places().pixels; }
  std::int64_t units() const override { return places().channels; }

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    std::vector<NormChannel> images;
    const auto pixels = static_cast<std::size_t>(places().pixels);
    for (std::int64_t image = 0; image < places().images; ++image) {
      const auto first = static_cast<std::size_t>(image * places().channels + unit) * pixels;
      const auto pixels_of = [&](int tensor) {
        return std::span(tensors[static_cast<std::size_t>(tensor)]).subspan(first, pixels);
      };
      const std::int64_t row = image * places().groups + unit / places().channels_of_group();
      images.push_back({pixels_of(rows().x), pixels_of(places().dy), given_moments(tensors, row)});
    }
    made.push_back({unit, group_weight_gradient(images, group_weight_forms()[own_form(form)])});
  }

 protected:
  std::string own_text(std::size_t form) const override { return group_text(group_weight_forms()[form]); }
  std::string own_shape(std::size_t form) const override { return group_shape(group_weight_forms()[form]); }
};

constexpr std::string_view kForward = "native_group_norm";
constexpr std::string_view kBackward = "native_group_norm_backward";

// The places of arguments, and names of the gradients.
struct ArgumentPlaces {
  std::size_t x, weight, sizes;
  std::string_view of_x, of_weight, of_bias;
};
constexpr ArgumentPlaces kOfForward = {0, 1, 3, "gradient.0", "gradient.1", "gradient.2"};
constexpr ArgumentPlaces kOfBackward = {1, 4, 5, "output.0", "output.1", "output.2"};
constexpr std::size_t kBias = 2;  // of the forward call
constexpr std::size_t kEpsilon = 7;
constexpr std::size_t kDy = 0;  // of the backward call
constexpr std::size_t kMean = 2;
constexpr std::size_t kInverseSigma = 3;

class GroupNormCall {
 public:
  explicit GroupNormCall(const DeclaredCall& call)
      : call_(call), is_backward_(call.name == kBackward), at_(is_backward_ ? kOfBackward : kOfForward) {
    const DeclaredTensor* x = call_.tensor(at_.x);
    if (x == nullptr || !call_.is_positional() || !take_sizes()) return;
    const auto* epsilon =
        call.arguments.size() > kEpsilon ? std::get_if<double>(&call.arguments[kEpsilon].value) : nullptr;
    if (!is_backward_ && epsilon == nullptr) return;
    rows_ = {places_.images * places_.groups, places_.channels_of_group() * places_.pixels, call_.number(at_.x),
             is_backward_ ? 0 : *epsilon, true};
    is_known_ = is_plain(at_.x, places_.elements()) && take_channels(at_.weight, places_.weight) &&
                (is_backward_ ? take_backward() : take_channels(kBias, places_.bias));
    if (!is_backward_) places_.dy = call_.seed();
  }

  std::optional<SumLayout> sum(std::string_view name) const {
    if (!is_known_ || name != at_.of_bias) return std::nullopt;
    return sum_over({places_.images, places_.channels, places_.pixels}, {true, false, true}, false, places_.dy);
  }

  std::shared_ptr<const FormedOutput> output(std::string_view name) const {
    if (!is_known_) return nullptr;
    const GivenMoments given = is_backward_ ? GivenMoments{call_.number(kMean), call_.number(kInverseSigma), true}
                                            : GivenMoments{call_.seed() + 1, call_.seed() + 2, false};
    if (name == at_.of_x) return std::make_shared<GroupInputGradient>(rows_, places_, given);
    if (name == at_.of_weight) return std::make_shared<GroupWeightGradient>(rows_, places_, given);
    if (is_backward_) return nullptr;
    if (name == kMeanOutput) return moments_output(NormOutput::mean, rows_);
    if (name == kInverseSigmaOutput) return moments_output(NormOutput::inverse_sigma, rows_);
    return name == "output.0" ? std::make_shared<NormalisedGroups>(rows_, places_) : nullptr;
  }

 private:
  bool take_sizes() {
    const auto& arguments = call_.call().arguments;
    std::int64_t* const sizes[] = {&places_.images, &places_.channels, &places_.pixels, &places_.groups};
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      const auto* size =
          arguments.size() > at_.sizes + i ? std::get_if<std::int64_t>(&arguments[at_.sizes + i].value) : nullptr;
      if (size == nullptr || *size < 1) return false;
      *sizes[i] = *size;
    }
    return places_.channels % places_.groups == 0;
  }

  // In fp32, row-major, with so many elements.
  bool is_plain(std::size_t argument, std::int64_t elements) const {
    const DeclaredTensor* tensor = call_.tensor(argument);
    return tensor != nullptr && tensor->dtype == "f32" && tensor->strides.empty() &&
           product_of(tensor->shape) == elements;
  }

  // One value for each channel, or none at all.
  bool take_channels(std::size_t argument, std::optional<int>& place) const {
    if (call_.tensor(argument) == nullptr) return !call_.is_given(argument);
    place = call_.number(argument);
    return is_plain(argument, places_.channels);
  }

  bool take_backward() {
    places_.dy = call_.number(kDy);
    return is_plain(kDy, places_.elements()) && is_plain(kMean, rows_.rows) && is_plain(kInverseSigma, rows_.rows);
  }

  CallArguments call_;
  bool is_backward_;
  const ArgumentPlaces& at_;
  GroupPlaces places_;
  NormRows rows_;
  bool is_known_ = false;
};

bool has(std::string_view name) { return name == kForward || name == kBackward; }

std::shared_ptr<const FormedOutput> output_of(const DeclaredCall& call, std::string_view output, std::string& why_not) {
  auto forms = GroupNormCall(call).output(output_of_schema(call, output));
  why_not = forms ? "" : "it is called in a way that is not known to be a group norm of row-major images in fp32";
  return forms;
}

std::optional<SumLayout> sum_of(const DeclaredCall& call, std::string_view output) {
  return GroupNormCall(call).sum(output_of_schema(call, output));
}

// Those of moments are a layer norm's, too.
bool has_text(std::string_view text) {
  static const FormTexts kGradients = [] {
    FormTexts texts;
    for (const GroupInputForm& form : group_input_forms()) texts.insert(group_text(form));
    for (const GroupWeightForm& form : group_weight_forms()) texts.insert(group_text(form));
    return texts;
  }();
  static const FormTexts kScaled = [] {
    FormTexts texts = {scale_text(false, {})};
    for (const ChannelScaleForm& form : scale_forms_of(true)) texts.insert(scale_text(true, form));
    return texts;
  }();
  return kGradients.contains(text) || is_behind_moments(text, kGradients) || is_behind_moments(text, kScaled);
}

}  // namespace
}  // namespace group_norm_output

const FormedFamily kGroupNormFamily = {&group_norm_output::has, &group_norm_output::output_of,
                                       &group_norm_output::has_text, &group_norm_output::sum_of};

}  // namespace reprobench

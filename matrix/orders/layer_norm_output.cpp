// Outputs of native_layer_norm(x, axes, weight, bias, epsilon) and of its backward pass (dy, x, axes, mean, 1 / sigma,
// weight, bias, mask), over rows in fp32.
#include <algorithm>
#include <optional>
#include <utility>

#include "matrix/orders/call_arguments.hpp"
#include "matrix/orders/formed_families.hpp"
#include "matrix/orders/moments_output.hpp"
#include "matrix/orders/norm_gradient.hpp"

namespace reprobench {
namespace layer_norm_output {  // a unity build has several files in one
namespace {

// ((x - mean) / sigma) weight + bias.
class NormalisedRows : public OutputOnMoments {
 public:
  NormalisedRows(const NormRows& rows, std::optional<int> weight, std::optional<int> bias)
      : OutputOnMoments(rows, {}, scale_forms().size()), weight_(weight), bias_(bias) {}

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    const std::span<const float> x = rows().row_of(tensors, rows().x, unit);
    const RowMoments moments = row_moments(x, moments_form(form));
    const float inverse = rows().inverse_sigma_of(moments.variance);
    const ScaleForm& scale = scale_forms()[own_form(form)];
    const auto value = [&](std::optional<int> tensor, std::size_t i, float otherwise) {
      return tensor ? tensors[static_cast<std::size_t>(*tensor)][i] : otherwise;
    };
    for (std::size_t i = 0; i < x.size(); ++i) {
      made.push_back({unit * rows().width + static_cast<std::int64_t>(i),
                      normalised(x[i], moments.mean, inverse, value(weight_, i, 1), value(bias_, i, 0), scale)});
    }
  }

  std::string text(std::size_t form) const override { return norm_text(named(form)); }
  std::string shape(std::size_t form) const override { return norm_shape(named(form)); }

 private:
  NormForm named(std::size_t form) const {
    return {NormOutput::normalised, moments_form(form), scale_forms()[own_form(form)]};
  }

  std::optional<int> weight_;
  std::optional<int> bias_;
};

struct GradientOperands {
  int dy = 0;
  int weight = 0;
  GivenMoments moments;
};

// The gradient of x, or of the weight.
class RowGradient : public OutputOnMoments {
 public:
  RowGradient(const NormRows& rows, const GradientOperands& operands, bool of_weight)
      : OutputOnMoments(rows, operands.moments,
                        of_weight ? weight_gradient_forms().size() : input_gradient_forms().size()),
        operands_(operands),
        of_weight_(of_weight) {}

  std::int64_t elements() const override { return of_weight_ ? rows().width : rows().elements(); }
  std::int64_t terms() const override { return of_weight_ ? rows().rows : rows().width; }
  std::int64_t units() const override { return of_weight_ ? rows().width : rows().rows; }

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    if (of_weight_) {
      std::vector<NormRow> all;
      for (std::int64_t row = 0; row < rows().rows; ++row) all.push_back(row_of(tensors, row));
      const WeightGradientForm& as = weight_gradient_forms()[own_form(form)];
      made.push_back({unit, weight_gradient(all, static_cast<std::size_t>(unit), as)});
      return;
    }
    std::vector<float> dx(static_cast<std::size_t>(rows().width));
    input_gradient(row_of(tensors, unit), input_gradient_forms()[own_form(form)], dx);
    add_row(unit, dx, made);
  }

 protected:
  std::string own_text(std::size_t form) const override {
    return of_weight_ ? gradient_text(weight_gradient_forms()[form]) : gradient_text(input_gradient_forms()[form]);
  }
  std::string own_shape(std::size_t form) const override {
    return of_weight_ ? gradient_shape(weight_gradient_forms()[form]) : gradient_shape(input_gradient_forms()[form]);
  }

 private:
  NormRow row_of(const Tensors& tensors, std::int64_t row) const {
    const ChannelMoments moments = given_moments(tensors, row);
    return {rows().row_of(tensors, rows().x, row), rows().row_of(tensors, operands_.dy, row),
            tensors[static_cast<std::size_t>(operands_.weight)], moments.mean, moments.inverse_sigma};
  }

  GradientOperands operands_;
  bool of_weight_;
};

constexpr std::string_view kForward = "native_layer_norm";
constexpr std::string_view kBackward = "native_layer_norm_backward";

// The places of arguments, and names of the gradients.
struct ArgumentPlaces {
  std::size_t x, axes, weight, bias;
  std::string_view of_x, of_weight, of_bias;
};
constexpr ArgumentPlaces kOfForward = {0, 1, 2, 3, "gradient.0", "gradient.2", "gradient.3"};
constexpr ArgumentPlaces kOfBackward = {1, 2, 5, 6, "output.0", "output.1", "output.2"};
constexpr std::size_t kEpsilon = 4;  // of the forward call
constexpr std::size_t kDy = 0;       // of the backward call
constexpr std::size_t kMean = 3;
constexpr std::size_t kInverseSigma = 4;

bool has(std::string_view name) { return name == kForward || name == kBackward; }

bool has_text(std::string_view text) {
  static const FormTexts kNormalised = [] {
    FormTexts texts;
    for (const MomentsForm& mean : mean_forms()) {
      for (const MomentsForm& squares : square_forms(mean)) {
        for (const ScaleForm& scale : scale_forms()) texts.insert(norm_text({NormOutput::normalised, squares, scale}));
      }
    }
    return texts;
  }();
  static const FormTexts kGradients = [] {
    FormTexts texts;
    for (const InputGradientForm& form : input_gradient_forms()) texts.insert(gradient_text(form));
    for (const WeightGradientForm& form : weight_gradient_forms()) texts.insert(gradient_text(form));
    return texts;
  }();
  return is_moments_text(text) || kNormalised.contains(text) || kGradients.contains(text) ||
         is_behind_moments(text, kGradients);
}

class LayerNormCall {
 public:
  explicit LayerNormCall(const DeclaredCall& call)
      : call_(call), is_backward_(call.name == kBackward), places_(is_backward_ ? kOfBackward : kOfForward) {
    const auto& arguments = call.arguments;
    const DeclaredTensor* x = call_.tensor(places_.x);
    const auto* axes =
        arguments.size() > places_.bias ? std::get_if<DeclaredIntegers>(&arguments[places_.axes].value) : nullptr;
    if (x == nullptr || axes == nullptr || !call_.is_positional()) return;
    const std::int64_t width = product_of(*axes);
    if (width < 1 || product_of(x->shape) % width != 0 || product_of(x->shape) == 0) return;
    rows_ = {product_of(x->shape) / width, width, call_.number(places_.x)};
    is_fp32_ = x->dtype == "f32";
    for (const std::size_t place : {places_.weight, places_.bias}) {
      const DeclaredTensor* tensor = call_.tensor(place);
      if (tensor != nullptr && (tensor->dtype != "f32" || product_of(tensor->shape) != width)) is_fp32_ = false;
    }
    const auto* epsilon = arguments.size() > kEpsilon ? std::get_if<double>(&arguments[kEpsilon].value) : nullptr;
    has_epsilon_ = epsilon != nullptr;
    if (has_epsilon_) rows_.epsilon = *epsilon;
  }

  std::optional<SumLayout> sum(std::string_view name) const {
    if (rows_.rows == 0 || name != places_.of_bias) return std::nullopt;
    return sum_over({rows_.rows, rows_.width}, {true, false}, false, dy());
  }

  std::shared_ptr<const FormedOutput> output(std::string_view name) const {
    if (rows_.rows == 0 || !is_fp32_ || (!is_backward_ && !has_epsilon_)) return nullptr;
    if (name == places_.of_x || name == places_.of_weight) return gradient(name == places_.of_weight);
    if (is_backward_) return nullptr;
    if (name == kMeanOutput) return moments_output(NormOutput::mean, rows_);
    if (name == kInverseSigmaOutput) return moments_output(NormOutput::inverse_sigma, rows_);
    if (name != "output.0") return nullptr;
    return std::make_shared<NormalisedRows>(rows_, place_of(places_.weight), place_of(places_.bias));
  }

 private:
  int dy() const { return is_backward_ ? call_.number(kDy) : call_.seed(); }
  std::optional<int> place_of(std::size_t argument) const {
    return call_.tensor(argument) == nullptr ? std::nullopt : std::optional(call_.number(argument));
  }

  // Without a weight ATen takes other loops.
  std::shared_ptr<const FormedOutput> gradient(bool of_weight) const {
    if (call_.tensor(places_.weight) == nullptr) return nullptr;
    GradientOperands operands{dy(), call_.number(places_.weight), {call_.seed() + 1, call_.seed() + 2, false}};
    if (is_backward_) {
      if (call_.tensor(kMean) == nullptr || call_.tensor(kInverseSigma) == nullptr) return nullptr;
      operands.moments = {call_.number(kMean), call_.number(kInverseSigma), true};
    }
    return std::make_shared<RowGradient>(rows_, operands, of_weight);
  }

  CallArguments call_;
  bool is_backward_;
  const ArgumentPlaces& places_;
  NormRows rows_;
  bool is_fp32_ = false;
  bool has_epsilon_ = false;
};

std::shared_ptr<const FormedOutput> output_of(const DeclaredCall& call, std::string_view output, std::string& why_not) {
  auto forms = LayerNormCall(call).output(output_of_schema(call, output));
  why_not = forms ? "" : "it is called in a way that is not known to be a layer norm of rows in fp32";
  return forms;
}

std::optional<SumLayout> sum_of(const DeclaredCall& call, std::string_view output) {
  return LayerNormCall(call).sum(output_of_schema(call, output));
}

}  // namespace
}  // namespace layer_norm_output

const FormedFamily kLayerNormFamily = {&layer_norm_output::has, &layer_norm_output::output_of,
                                       &layer_norm_output::has_text, &layer_norm_output::sum_of};

}  // namespace reprobench

#include "matrix/orders/order_layout.hpp"

#include <utility>

#include "matrix/base/contract_error.hpp"
#include "matrix/orders/call_arguments.hpp"
#include "matrix/orders/summation_tree.hpp"

namespace reprobench {
namespace {

constexpr std::string_view kLayerNorm = "native_layer_norm";
constexpr std::string_view kLayerNormBackward = "native_layer_norm_backward";
constexpr const char* kNotOfRows = "it is called in a way that is not known to be a layer norm of rows in fp32";

// The places of the arguments of native_layer_norm(x, axes, weight, bias, epsilon) and of its backward(dy, x, axes,
// mean, 1 / sigma, weight, bias, mask).
struct NormPlaces {
  std::size_t x, axes, weight, bias;
  std::string_view of_x, of_weight, of_bias;  // names of the gradients
};
constexpr NormPlaces kForward = {0, 1, 2, 3, "gradient.0", "gradient.2", "gradient.3"};
constexpr NormPlaces kBackward = {1, 2, 5, 6, "output.0", "output.1", "output.2"};
constexpr std::size_t kEpsilon = 4;
constexpr std::size_t kDy = 0;
constexpr std::size_t kMean = 3;
constexpr std::size_t kInverseSigma = 4;

std::optional<NormOutput> norm_output(std::string_view name) {
  if (name == "output.0") return NormOutput::normalised;
  if (name == "output.1") return NormOutput::mean;
  if (name == "output.2") return NormOutput::inverse_sigma;
  return std::nullopt;
}

class LayerNormCall {
 public:
  LayerNormCall(const DeclaredCall& call, bool is_backward)
      : call_(call), is_backward_(is_backward), places_(is_backward ? kBackward : kForward) {
    const auto& arguments = call.arguments;
    const DeclaredTensor* x = call_.tensor(places_.x);
    const auto* axes =
        arguments.size() > places_.bias ? std::get_if<DeclaredIntegers>(&arguments[places_.axes].value) : nullptr;
    if (x == nullptr || axes == nullptr || !call_.is_positional()) return;
    width_ = product_of(*axes);
    if (width_ < 1 || product_of(x->shape) % width_ != 0 || product_of(x->shape) == 0) return;
    rows_ = product_of(x->shape) / width_;
    is_fp32_ = x->dtype == "f32";
    for (const std::size_t place : {places_.weight, places_.bias}) {
      const DeclaredTensor* tensor = call_.tensor(place);
      if (tensor != nullptr && (tensor->dtype != "f32" || product_of(tensor->shape) != width_)) is_fp32_ = false;
    }
    if (const auto* epsilon = arguments.size() > kEpsilon ? std::get_if<double>(&arguments[kEpsilon].value) : nullptr) {
      epsilon_ = static_cast<float>(*epsilon);
    }
  }

  std::optional<OrderLayout> output(std::string_view name) const {
    if (rows_ == 0) return std::nullopt;
    if (name == places_.of_bias) return sum_over({rows_, width_}, {true, false}, false, dy());
    if (!is_fp32_ || (!is_backward_ && !epsilon_)) return std::nullopt;
    if (name == places_.of_x || name == places_.of_weight) return gradient(name == places_.of_weight);
    const auto of = norm_output(name);
    if (!of || is_backward_) return std::nullopt;
    RowNorm norm{*of, rows_, width_, {}, {}, *epsilon_};
    if (call_.tensor(places_.weight) != nullptr) norm.weight = call_.number(places_.weight);
    if (call_.tensor(places_.bias) != nullptr) norm.bias = call_.number(places_.bias);
    return norm;
  }

 private:
  int dy() const { return is_backward_ ? call_.number(kDy) : call_.seed(); }

  // Without a weight ATen takes other loops.
  std::optional<OrderLayout> gradient(bool of_weight) const {
    if (call_.tensor(places_.weight) == nullptr) return std::nullopt;
    RowNormGradient gradient{of_weight, rows_, width_, call_.number(places_.x), dy(), call_.number(places_.weight),
                             {},        {},    0};
    if (!is_backward_) {
      gradient.epsilon = *epsilon_;
      return gradient;
    }
    if (call_.tensor(kMean) == nullptr || call_.tensor(kInverseSigma) == nullptr) return std::nullopt;
    gradient.mean = call_.number(kMean);
    gradient.inverse_sigma = call_.number(kInverseSigma);
    return gradient;
  }

  CallArguments call_;
  bool is_backward_;
  const NormPlaces& places_;
  std::int64_t rows_ = 0;
  std::int64_t width_ = 0;
  bool is_fp32_ = false;
  std::optional<float> epsilon_;
};

}  // namespace

std::optional<OrderLayout> order_layout(const DeclaredCall& call, std::string_view output, std::string& why_not) {
  if (call.name == kLayerNorm || call.name == kLayerNormBackward) {
    auto layout = LayerNormCall(call, call.name == kLayerNormBackward).output(output_of_schema(call, output));
    if (!layout) why_not = kNotOfRows;
    return layout;
  }
  if (has_formed_outputs(call.name)) {
    if (auto forms = formed_output(call, output, why_not)) return FormedLayout{std::move(forms)};
    return std::nullopt;
  }
  if (auto sum = sum_layout(call, output, why_not)) return sum;
  return std::nullopt;
}

bool is_form(std::string_view text) { return parse_norm(text) || parse_gradient(text) || is_formed_text(text); }

bool is_canonical_order(std::string_view text, std::int64_t terms) {
  if (is_form(text)) return terms > 0;
  try {
    const SummationTree tree = parse_order(text);
    return static_cast<std::int64_t>(tree.terms()) == terms && order_text(tree) == text;
  } catch (const ContractError&) {
    return false;
  }
}

}  // namespace reprobench

#include "matrix/orders/order_layout.hpp"

#include "matrix/base/contract_error.hpp"
#include "matrix/orders/call_arguments.hpp"
#include "matrix/orders/summation_tree.hpp"

namespace reprobench {
namespace {

constexpr std::string_view kLayerNorm = "native_layer_norm";
constexpr std::string_view kLayerNormBackward = "native_layer_norm_backward";
constexpr const char* kNoGradients = "of the gradients of a layer norm that of the bias alone is a sum";
constexpr std::size_t kWeight = 2;
constexpr std::size_t kBias = 3;
constexpr std::size_t kEpsilon = 4;

std::optional<NormOutput> norm_output(std::string_view name) {
  if (name == "output.0") return NormOutput::normalised;
  if (name == "output.1") return NormOutput::mean;
  if (name == "output.2") return NormOutput::inverse_sigma;
  return std::nullopt;
}

// The bias's gradient is a plain sum over the rows of what the backward pass is given.
std::optional<SumLayout> bias_gradient(const CallArguments& call, std::string_view output) {
  const bool is_backward = call.call().name == kLayerNormBackward;
  const DeclaredTensor* x = call.tensor(is_backward ? 1 : 0);
  const std::size_t axes_at = is_backward ? 2 : 1;
  if (output != (is_backward ? "output.2" : "gradient.3") || x == nullptr || !call.is_positional()) return std::nullopt;
  const auto& arguments = call.call().arguments;
  const auto* axes = arguments.size() > axes_at ? std::get_if<DeclaredIntegers>(&arguments[axes_at].value) : nullptr;
  const std::int64_t width = axes == nullptr ? 0 : product_of(*axes);
  if (width < 1 || product_of(x->shape) % width != 0) return std::nullopt;
  return sum_over({product_of(x->shape) / width, width}, {true, false}, false,
                  is_backward ? call.number(0) : call.seed());
}

std::optional<RowNorm> row_norm(const CallArguments& call, std::string_view output, std::string& why_not) {
  const auto of = norm_output(output);
  const auto& arguments = call.call().arguments;
  const DeclaredTensor* x = call.tensor(0);
  if (!of) {
    why_not = kNoGradients;
    return std::nullopt;
  }
  if (x == nullptr || arguments.size() <= kEpsilon || !call.is_positional()) {
    why_not = "it is called in a way that is not known to be a layer norm of rows";
    return std::nullopt;
  }
  const auto* epsilon = std::get_if<double>(&arguments[kEpsilon].value);
  const auto* axes = std::get_if<DeclaredIntegers>(&arguments[1].value);
  RowNorm norm;
  norm.output = *of;
  norm.width = axes == nullptr ? 0 : product_of(*axes);
  bool is_fp32 = x->dtype == "f32";
  for (const std::size_t place : {kWeight, kBias}) {
    const DeclaredTensor* tensor = call.tensor(place);
    if (tensor == nullptr) continue;
    (place == kWeight ? norm.weight : norm.bias) = call.number(place);
    is_fp32 = is_fp32 && tensor->dtype == "f32" && product_of(tensor->shape) == norm.width;
  }
  if (epsilon == nullptr || norm.width < 1 || product_of(x->shape) % norm.width != 0 || !is_fp32) {
    why_not = "the order of a layer norm is read of rows in fp32 alone";
    return std::nullopt;
  }
  norm.rows = product_of(x->shape) / norm.width;
  norm.epsilon = static_cast<float>(*epsilon);
  return norm;
}

}  // namespace

std::optional<OrderLayout> order_layout(const DeclaredCall& call, std::string_view output, std::string& why_not) {
  if (call.name == kLayerNorm || call.name == kLayerNormBackward) {
    const CallArguments arguments(call);
    if (auto sum = bias_gradient(arguments, output)) return sum;
    if (call.name == kLayerNormBackward) {
      why_not = kNoGradients;
      return std::nullopt;
    }
    if (auto norm = row_norm(arguments, output, why_not)) return norm;
    return std::nullopt;
  }
  if (auto sum = sum_layout(call, output, why_not)) return sum;
  return std::nullopt;
}

bool is_canonical_order(std::string_view text, std::int64_t terms) {
  if (parse_norm(text)) return terms > 0;
  try {
    const SummationTree tree = parse_order(text);
    return static_cast<std::int64_t>(tree.terms()) == terms && order_text(tree) == text;
  } catch (const ContractError&) {
    return false;
  }
}

}  // namespace reprobench

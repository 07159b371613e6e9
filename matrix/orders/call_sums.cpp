// Operators whose outputs are sums of products, with one row each. An operator without a row is not known to be such a
// sum.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "matrix/orders/call_arguments.hpp"
#include "matrix/orders/convolution_sums.hpp"
#include "matrix/orders/sum_layout.hpp"

namespace reprobench {
namespace {

// A product in letters, as in Einstein's notation: "nk,ko->no" sums over k.
struct Letters {
  std::string_view left;
  std::string_view right;
  std::string_view output;
};
using Sizes = std::map<char, std::int64_t>;

Operand operand(int tensor, std::string_view letters, const Sizes& sizes, std::string_view output,
                std::string_view summed) {
  Operand made{tensor, {}};
  for (const char letter : letters) {
    OperandAxis axis;
    axis.size = sizes.at(letter);
    axis.of_output.assign(output.size(), 0);
    axis.of_term.assign(summed.size(), 0);
    if (const auto at = output.find(letter); at != std::string_view::npos) axis.of_output[at] = 1;
    if (const auto at = summed.find(letter); at != std::string_view::npos) axis.of_term[at] = 1;
    made.axes.push_back(std::move(axis));
  }
  return made;
}

SumLayout product_layout(const Letters& letters, const Sizes& sizes, int left, int right) {
  std::string summed;
  for (const char letter : letters.left) {
    if (letters.output.find(letter) == std::string_view::npos) summed += letter;
  }
  SumLayout layout;
  for (const char letter : letters.output) layout.shape.push_back(sizes.at(letter));
  for (const char letter : summed) layout.sums.push_back(sizes.at(letter));
  layout.left = operand(left, letters.left, sizes, letters.output, summed);
  if (right >= 0) layout.right = operand(right, letters.right, sizes, letters.output, summed);
  return layout;
}

// A bias along the output's last axes; one of size 1 is the same everywhere.
Operand bias_operand(const DeclaredTensor& bias, int tensor, const SumLayout& layout) {
  Operand made{tensor, {}};
  const std::size_t ahead = layout.shape.size() - bias.shape.size();
  for (std::size_t i = 0; i < bias.shape.size(); ++i) {
    OperandAxis axis;
    axis.size = bias.shape[i];
    axis.of_output.assign(layout.shape.size(), 0);
    if (axis.size != 1) axis.of_output[ahead + i] = 1;
    made.axes.push_back(std::move(axis));
  }
  return made;
}

struct ProductRow {
  std::string_view name;
  std::size_t left;
  std::size_t right;
  std::optional<std::size_t> bias;
  Letters letters;
};

// `linear` has its weight the other way round. If the first operand of a `linear` has more axes, they count as rows.
constexpr std::array<ProductRow, 8> kProducts = {{
    {"dot", 0, 1, {}, {"k", "k", ""}},
    {"mv", 0, 1, {}, {"nk", "k", "n"}},
    {"addmv", 1, 2, 0, {"nk", "k", "n"}},
    {"mm", 0, 1, {}, {"nk", "ko", "no"}},
    {"addmm", 1, 2, 0, {"nk", "ko", "no"}},
    {"bmm", 0, 1, {}, {"bnk", "bko", "bno"}},
    {"baddbmm", 1, 2, 0, {"bnk", "bko", "bno"}},
    {"linear", 0, 1, 2, {"nk", "ok", "no"}},
}};

// Leading axes that are only rows, as one: what lies row-major behind each other is the same element either way.
std::vector<std::int64_t> with_axes(std::vector<std::int64_t> shape, std::size_t axes) {
  while (shape.size() > axes) {
    shape[1] *= shape[0];
    shape.erase(shape.begin());
  }
  while (shape.size() < axes) shape.insert(shape.begin(), 1);
  return shape;
}

std::optional<SumLayout> sum_of_product(const ProductRow& row, const CallArguments& call, std::string_view output,
                                        std::string& why_not) {
  const DeclaredTensor* left = call.tensor(row.left);
  const DeclaredTensor* right = call.tensor(row.right);
  const DeclaredTensor* bias = row.bias ? call.tensor(*row.bias) : nullptr;
  if (left == nullptr || right == nullptr || right->shape.size() != row.letters.right.size()) {
    why_not = "it is called in a way that is not known to be one product";
    return std::nullopt;
  }
  Sizes sizes;
  const auto left_shape = with_axes(left->shape, row.letters.left.size());
  for (std::size_t i = 0; i < left_shape.size(); ++i) sizes[row.letters.left[i]] = left_shape[i];
  for (std::size_t i = 0; i < right->shape.size(); ++i) sizes[row.letters.right[i]] = right->shape[i];
  const auto gradient = gradient_of(output);
  const Letters& as = row.letters;
  if (output == "output.0") {
    SumLayout layout = product_layout(as, sizes, call.number(row.left), call.number(row.right));
    if (bias != nullptr) layout.bias = bias_operand(*bias, call.number(*row.bias), layout);
    return layout;
  }
  if (gradient == row.left) {
    return product_layout({as.output, as.right, as.left}, sizes, call.seed(), call.number(row.right));
  }
  if (gradient == row.right) {
    return product_layout({as.output, as.left, as.right}, sizes, call.seed(), call.number(row.left));
  }
  if (bias != nullptr && gradient == row.bias && bias->shape.size() <= as.output.size()) {
    return product_layout({as.output, "", as.output.substr(as.output.size() - bias->shape.size())}, sizes, call.seed(),
                          -1);
  }
  why_not = "nothing is added up in it, as far as is known";
  return std::nullopt;
}

// Which axes a call sums over.
struct SummedAxes {
  std::vector<bool> is_summed;
  bool keeps = false;
};

SummedAxes summed_axes(const CallArguments& call, std::size_t axes) {
  SummedAxes summed{std::vector<bool>(axes, true), false};
  const auto& arguments = call.call().arguments;
  if (call.call().overload != "dim_IntList" && call.call().overload != "dim") return summed;
  const auto* list = arguments.size() > 1 ? std::get_if<DeclaredIntegers>(&arguments[1].value) : nullptr;
  if (list != nullptr && !list->empty()) {
    summed.is_summed.assign(axes, false);
    for (const std::int64_t axis : *list) {
      const auto at = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(axes) : axis);
      if (at < axes) summed.is_summed[at] = true;
    }
  }
  const auto* keep = arguments.size() > 2 ? std::get_if<bool>(&arguments[2].value) : nullptr;
  summed.keeps = keep != nullptr && *keep;
  return summed;
}

// The gradient of a sum's operand: each element is one term, an element of the gradient that the backward pass is
// given. Of a mean it is divided.
SumLayout copied_gradient(const SumLayout& forward, const SummedAxes& axes, int seed) {
  SumLayout layout;
  layout.left.tensor = seed;
  for (const OperandAxis& axis : forward.left.axes) layout.shape.push_back(axis.size);
  for (std::size_t i = 0; i < layout.shape.size(); ++i) {
    if (axes.is_summed[i] && !axes.keeps) continue;
    OperandAxis axis;
    axis.size = axes.is_summed[i] ? 1 : layout.shape[i];
    axis.of_output.assign(layout.shape.size(), 0);
    if (!axes.is_summed[i]) axis.of_output[i] = 1;
    layout.left.axes.push_back(std::move(axis));
  }
  layout.divisor = forward.divisor;
  return layout;
}

std::optional<SumLayout> sum_of_axes(const CallArguments& call, std::string_view output, bool is_mean,
                                     std::string& why_not) {
  const DeclaredTensor* tensor = call.tensor(0);
  if (tensor == nullptr || (output != "output.0" && gradient_of(output) != 0)) {
    why_not = "it is called in a way that is not known to be one sum";
    return std::nullopt;
  }
  const SummedAxes axes = summed_axes(call, tensor->shape.size());
  SumLayout layout = sum_over(tensor->shape, axes.is_summed, axes.keeps, call.number(0));
  if (is_mean) layout.divisor = layout.most_terms();
  return output == "output.0" ? layout : copied_gradient(layout, axes, call.seed());
}
}  // namespace

std::optional<SumLayout> sum_layout(const DeclaredCall& call, std::string_view output, std::string& why_not) {
  const CallArguments arguments(call);
  if (!arguments.is_positional()) {
    why_not = "it is called with lists of tensors or named arguments, whose sums are not known";
    return std::nullopt;
  }
  for (const ProductRow& row : kProducts) {
    if (call.name == row.name) return sum_of_product(row, arguments, output, why_not);
  }
  if (call.name == "sum" || call.name == "mean") {
    return sum_of_axes(arguments, output, call.name == "mean", why_not);
  }
  if (is_convolution(call.name)) return convolution_sum(arguments, output, why_not);
  why_not = "`" + call.name + "` is not among the operators whose results are known to be sums";
  return std::nullopt;
}

}  // namespace reprobench

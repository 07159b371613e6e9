// The computation of one output of a call, as far as its order of additions decides its bits. It is a sum of terms or
// products, the result of a layer norm from a row's mean and variance, or one that has forms.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "matrix/contract/declared_call.hpp"
#include "matrix/orders/formed_output.hpp"
#include "matrix/orders/norm_gradient.hpp"
#include "matrix/orders/row_moments.hpp"
#include "matrix/orders/sum_layout.hpp"

namespace reprobench {

// An output of native_layer_norm(x, [width], weight, bias, epsilon): x is (rows, width), in fp32.
struct RowNorm {
  NormOutput output = NormOutput::mean;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  // Places of tensors in the call; x is the first.
  std::optional<int> weight = {};
  std::optional<int> bias = {};
  float epsilon = 0;

  std::int64_t elements() const { return output == NormOutput::normalised ? rows * width : rows; }
};

// The gradient of x or of the weight. Tensors are places in the call; the place after its last tensor is the gradient
// that its backward pass is given.
struct RowNormGradient {
  bool of_weight = false;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  int x = 0;
  int dy = 0;
  int weight = 0;
  // Set for native_layer_norm_backward, which is given them. native_layer_norm computes them, as "output.1" and
  // "output.2".
  std::optional<int> mean = {};
  std::optional<int> inverse_sigma = {};
  float epsilon = 0;  // of native_layer_norm

  std::int64_t elements() const { return of_weight ? width : rows * width; }
};

struct FormedLayout {
  std::shared_ptr<const FormedOutput> forms;

  std::int64_t elements() const { return forms->elements(); }
};

using OrderLayout = std::variant<SumLayout, RowNorm, RowNormGradient, FormedLayout>;

// The layout of an output, by its name in records. If nothing, `why_not` says why its order cannot be read, if that is
// known.
std::optional<OrderLayout> order_layout(const DeclaredCall& call, std::string_view output, std::string& why_not);

// Whether the text is a form of row_moments.hpp, norm_gradient.hpp or formed_output.hpp, and no tree of additions.
bool is_form(std::string_view text);

// Whether the text names an order of so many terms in canonical form (see also summation_tree.hpp).
bool is_canonical_order(std::string_view text, std::int64_t terms);

}  // namespace reprobench

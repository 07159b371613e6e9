// What one output of a call is made of, as far as its order of additions decides its bits: a sum of terms or products,
// or what a layer norm makes of a row's mean and variance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "matrix/contract/declared_call.hpp"
#include "matrix/orders/row_moments.hpp"
#include "matrix/orders/sum_layout.hpp"

namespace reprobench {

// An output of native_layer_norm(x, [width], weight, bias, epsilon): x is (rows, width), in fp32.
struct RowNorm {
  NormOutput output = NormOutput::mean;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  // Tensors of the call, in its order; x is the first.
  std::optional<int> weight = {};
  std::optional<int> bias = {};
  float epsilon = 0;

  std::int64_t elements() const { return output == NormOutput::normalised ? rows * width : rows; }
};

using OrderLayout = std::variant<SumLayout, RowNorm>;

// Of an output by its name in records. Nothing: `why_not` says why its order cannot be read, as far as is known.
std::optional<OrderLayout> order_layout(const DeclaredCall& call, std::string_view output, std::string& why_not);

// A text that names one order of so many terms in the one way that there is (summation_tree.hpp, row_moments.hpp).
bool is_canonical_order(std::string_view text, std::int64_t terms);

}  // namespace reprobench

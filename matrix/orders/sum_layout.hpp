// The elements of an operator's operands whose sum is one element of its output.
//
// Output (n, o) of mm(f32[N, K], f32[K, O]) has K terms: element (n, k) of the first operand times (k, o) of the
// second. Every place in an operand is a sum of whole multiples of the places along the output's axes and along the
// axes that are summed over. For a convolution it is also divided by the stride, and there is no term outside of the
// padded image.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/declared_call.hpp"

namespace reprobench {

// The number of elements of a tensor with these extents.
std::int64_t product_of(const std::vector<std::int64_t>& sizes);

// One axis of an operand. Its place is (offset + sum of factors x places) / divisor. If that is no whole number, or not
// below `size`, the term does not exist.
struct OperandAxis {
  std::int64_t size = 0;
  std::vector<std::int64_t> of_output = {};  // factors of the output's places
  std::vector<std::int64_t> of_term = {};    // factors of the places that are summed over
  std::int64_t offset = 0;
  std::int64_t divisor = 1;
};

struct Operand {
  int tensor = 0;  // its place in the call; the one after the last: the gradient that the backward pass is given
  std::vector<OperandAxis> axes;

  std::int64_t elements() const;
};

struct SumTerm {
  std::int64_t left = 0;    // element of the operand, row-major; -1: the term does not exist
  std::int64_t right = -1;  // -1: there is no second factor
};

struct SumLayout {
  std::vector<std::int64_t> shape;  // shape of the output
  std::vector<std::int64_t> sums;   // sizes of the axes that are summed over
  Operand left;
  std::optional<Operand> right;  // absent: terms are added as they are
  std::optional<Operand> bias;   // one more term, added as it is; it has no axis that is summed over
  std::int64_t divisor = 1;      // of a mean

  std::int64_t elements() const;
  std::int64_t most_terms() const;  // without the bias

  // The terms of one element of the output, in the order of the summed axes, the last one fastest. Terms that do not
  // exist are among them; the bias is not.
  void terms_of(std::int64_t element, std::vector<SumTerm>& terms) const;
  std::int64_t bias_of(std::int64_t element) const;
};

// Sums over some axes of one tensor. The other axes keep their places; with `keeps` the summed ones stay with size 1.
SumLayout sum_over(const std::vector<std::int64_t>& shape, const std::vector<bool>& is_summed, bool keeps, int tensor);

// The layout of an output, by its name in records ("output.0", "gradient.1"). If nothing, `why_not` says why this
// output is no such sum, if that is known.
std::optional<SumLayout> sum_layout(const DeclaredCall& call, std::string_view output, std::string& why_not);

}  // namespace reprobench

// Which elements of its operands one element of an operator's output is the sum of.
//
// Output (n, o) of mm(f32[N, K], f32[K, O]) has K terms: element (n, k) of the first operand times (k, o) of the
// second. Every place of an operand is written as whole multiples of the places along the output's axes and along the
// axes that are summed over; of a convolution also divided by the stride, and outside of the padded image there is no
// term.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/declared_call.hpp"

namespace reprobench {

// Elements of a tensor of these extents.
std::int64_t product_of(const std::vector<std::int64_t>& sizes);

// One axis of an operand. Its place is (offset + sum of factors x places) / divisor; where that is no whole number or
// not below `size`, the term does not exist.
struct OperandAxis {
  std::int64_t size = 0;
  std::vector<std::int64_t> of_output = {};  // factors of the output's places
  std::vector<std::int64_t> of_term = {};    // factors of the places that are summed over
  std::int64_t offset = 0;
  std::int64_t divisor = 1;
};

struct Operand {
  int tensor = 0;  // of the call, in its order; as many as it has: what the backward pass is given
  std::vector<OperandAxis> axes;

  std::int64_t elements() const;
};

struct SumTerm {
  std::int64_t left = 0;    // element of the operand, row-major; -1: the term does not exist
  std::int64_t right = -1;  // -1: there is no second factor
};

struct SumLayout {
  std::vector<std::int64_t> shape;  // of the output
  std::vector<std::int64_t> sums;   // sizes of the axes that are summed over
  Operand left;
  std::optional<Operand> right;  // absent: terms are added as they are
  std::optional<Operand> bias;   // one more term, added as it is; it has no axis that is summed over
  std::int64_t divisor = 1;      // of a mean

  std::int64_t elements() const;
  std::int64_t most_terms() const;  // without the bias

  // Of one element of the output, in the order of the summed axes, the last one fastest. Terms that do not exist are
  // among them, the bias is not.
  void terms_of(std::int64_t element, std::vector<SumTerm>& terms) const;
  std::int64_t bias_of(std::int64_t element) const;
};

// Sums over some axes of one tensor; those that stay keep their places, and with `keeps` the others have one of size 1.
SumLayout sum_over(const std::vector<std::int64_t>& shape, const std::vector<bool>& is_summed, bool keeps, int tensor);

// Of an output by its name in records ("output.0", "gradient.1"). Nothing: `why_not` says why this output is no such
// sum, as far as is known.
std::optional<SumLayout> sum_layout(const DeclaredCall& call, std::string_view output, std::string& why_not);

}  // namespace reprobench

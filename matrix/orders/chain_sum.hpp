// A sum of products as BLAS libraries add it: one chain, or pieces of so many terms each, added one after the other.
#pragma once

#include <algorithm>
#include <cstddef>

#include "matrix/orders/rounding.hpp"

namespace reprobench {

struct ChainForm {
  std::size_t piece = 0;  // terms; 0: one chain
  bool fused = true;
  bool in_strands = false;  // terms with even and with odd numbers in chains of their own, then what is left over

  friend bool operator==(const ChainForm&, const ChainForm&) = default;
};

// The sum of left(i) x right(i) for i from `first` to below `end`.
template <typename Left, typename Right>
float sum_of_piece(std::size_t first, std::size_t end, const ChainForm& form, Left&& left, Right&& right) {
  const auto chain = [&](float sum, std::size_t from, std::size_t to, std::size_t step) {
    for (std::size_t i = from; i < to; i += step) sum = multiply_add(form.fused, left(i), right(i), sum);
    return sum;
  };
  const float begin = left(first) * right(first);
  if (!form.in_strands || end - first < 2) return chain(begin, first + 1, end, 1);
  const std::size_t pairs = first + (end - first) / 2 * 2;
  const float even = chain(begin, first + 2, pairs, 2);
  const float odd = chain(left(first + 1) * right(first + 1), first + 3, pairs, 2);
  return chain(even + odd, pairs, end, 1);
}

// The sum of left(i) x right(i) for i below `terms`.
template <typename Left, typename Right>
float chain_sum(std::size_t terms, const ChainForm& form, Left&& left, Right&& right) {
  const std::size_t size = form.piece == 0 ? terms : form.piece;
  float sum = 0;
  for (std::size_t first = 0; first < terms; first += size) {
    const float piece = sum_of_piece(first, std::min(terms, first + size), form, left, right);
    sum = first == 0 ? piece : sum + piece;
  }
  return sum;
}

}  // namespace reprobench

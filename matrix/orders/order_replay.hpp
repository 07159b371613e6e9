// Computes a sum again in a given order, bit for bit: rounded after every addition, and after every product that is not
// fused. A library's result on the same operands is equal to it if and only if the library added in that order. The
// exception are inputs on which two orders happen to agree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "matrix/contract/call_order.hpp"
#include "matrix/orders/summation_tree.hpp"

namespace reprobench {

// T is the type of products and partial sums. `left` has one value for each term. `right` has as many, or none; then
// terms are added as they are.
template <typename T>
struct SumOperands {
  std::span<const T> left;
  std::span<const T> right = {};
  std::int64_t plain_from = -1;  // terms from here on are added as they are; -1: none
  SumEnd end = SumEnd::as_it_is;
  T divisor = 1;
};

// `partial_sums` is work memory, so that thousands of sums allocate only once. The sum of an empty order is 0.
template <typename T>
T sum_in_order(const SummationTree& order, const SumOperands<T>& operands, std::vector<T>& partial_sums);

}  // namespace reprobench

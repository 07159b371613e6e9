// The operands of one call while its order of summation is read off. They hold the numbers that a question puts into
// them, or the random inputs on which an order is replayed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "matrix/contract/call_order.hpp"
#include "matrix/orders/order_recovery.hpp"
#include "matrix/orders/sum_layout.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

class SingleCall;

class OrderOperands {
 public:
  OrderOperands(const SingleCall& call, const SumLayout& layout, std::string output);
  ~OrderOperands();
  OrderOperands(const OrderOperands&) = delete;
  OrderOperands& operator=(const OrderOperands&) = delete;

  // Whether rounding of products before they join the sum can show. Products of 16-bit numbers are exact in fp32, so
  // that rounding makes no difference there.
  bool has_rounded_products() const;

  // The terms of one element that exist, and the bias.
  std::int64_t terms_at(std::int64_t element) const;

  // This element, and others along one axis whose questions can be asked in the same call, since they share neither the
  // operand that the questions vary nor the bias.
  std::vector<std::int64_t> independent_of(std::int64_t element) const;

  // The answers to one question for each of the first `rows`, in one call.
  std::vector<double> answers(std::span<const Question> questions, const std::vector<std::int64_t>& rows);

  // All elements, or, where replaying them takes too long, a sample: corners, lines along each axis with their ends,
  // and others by chance. `first` comes first.
  std::vector<std::int64_t> elements_to_check(std::int64_t first) const;

  // Fills the operands and makes the call. The numbers are bell-shaped and of many sizes, or they cancel, which leaves
  // nothing but the errors of rounding.
  void draw(std::uint64_t seed, std::int64_t round, bool cancels);

  // Takes the recorded operands of this call, on the CPU, and its result. They are only read, since a training goes on
  // with them.
  void take_recorded(const std::vector<at::Tensor>& tensors, const at::Tensor& made);

  // Takes the terms of an element for an order of `terms` terms: all of them, with 0 for those that do not exist, or
  // only those that exist. False if neither number of terms is `terms`.
  bool take_terms(std::int64_t element, std::int64_t terms);

  // Whether that order gives the call's result from the terms that were taken, but for the sign of a zero and the bits
  // of a NaN.
  bool replays(const SummationTree& order, SumEnd end) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprobench

// The operands of one call while its order of summation is read off: what a question puts into them, and the random
// inputs on which an order is replayed.
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

  // Products of 16-bit numbers are exact in fp32, so that it makes no difference whether they join unrounded.
  bool has_rounded_products() const;

  // The terms of one element that exist, and the bias.
  std::int64_t terms_at(std::int64_t element) const;

  // This element, and others along one axis whose questions can be asked in the same call: they share neither the
  // operand that the questions vary nor the bias.
  std::vector<std::int64_t> independent_of(std::int64_t element) const;

  // Of one question for each of the first `rows`, in one call.
  std::vector<double> answers(std::span<const Question> questions, const std::vector<std::int64_t>& rows);

  // All elements, or, where replaying them takes too long, a sample: corners, lines along each axis with their ends,
  // and others by chance. The given one is the first.
  std::vector<std::int64_t> elements_to_check(std::int64_t first) const;

  // Fills the operands and does the call: bell-shaped numbers of many sizes, or such that cancel, which leaves nothing
  // but the errors of rounding.
  void draw(std::uint64_t seed, std::int64_t round, bool cancels);

  // Values that are on record of this call, on the CPU, and what it made of them. They are read alone: a training goes
  // on with them.
  void take_recorded(const std::vector<at::Tensor>& tensors, const at::Tensor& made);

  // Takes the terms of an element as an order of so many terms has them: all, with 0 for those that do not exist, or
  // those that exist. False: it has neither number.
  bool take_terms(std::int64_t element, std::int64_t terms);

  // Whether that order gives what the call made of the terms that were taken, but for the sign of a zero and the bits
  // of a NaN.
  bool replays(const SummationTree& order, SumEnd end) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprobench

// Recovers the order of a black box from its outputs.
//
// One term is a huge number, another its negative, all others 1. As long as the two have not met, ones that are added
// to either are lost. The result counts the terms that join after they have met. So it tells the size of the smallest
// partial sum that has both. From these sizes the tree follows (FPRev, arXiv 2411.00442). About one question for every
// term and level of chains is needed, not one for every pair.
//
// One more question for each term shows whether a product joins unrounded: see `Question::Kind::fused`.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "matrix/orders/summation_tree.hpp"

namespace reprobench {

struct Question {
  enum class Kind {
    // Term `first` is huge, `second` its negative, the others are 1. The answer is how many of the others are left in
    // the result. If it is no whole number, this is no sum of these terms.
    outside,
    // Both factors of both terms are 1 + e, so small that their product's last bit is lost when it is rounded. `second`
    // is taken with a minus, and all other terms are 0. The answer is above 0 if `first` was added unrounded to
    // `second`, below 0 if it was the other way round, and 0 if both were rounded first.
    fused,
  };
  Kind kind = Kind::outside;
  std::int32_t first = 0;
  std::int32_t second = 0;
};

// Returns answers in the order of the questions.
using BlackBox = std::function<std::vector<double>(std::span<const Question>)>;

struct RecoveryLimits {
  std::int64_t questions = 50'000'000;
};

struct RecoveredOrder {
  SummationTree order;
  std::int64_t questions = 0;
  std::string problem;  // why there is no order; empty if there is one
};

// Recovers the order of `terms` terms, of which those below `products` are products of two factors. Exceptions of the
// box pass through.
RecoveredOrder recover_order(std::int32_t terms, std::int32_t products, const BlackBox& box,
                             const RecoveryLimits& limits = {});

}  // namespace reprobench

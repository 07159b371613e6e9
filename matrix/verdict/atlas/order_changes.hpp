// Two columns of an atlas by their orders of summation: which outputs add up in another order, in which nothing has
// changed, and of which that is not known. Equal bits of the recorded inputs decide nothing here; a result that its
// order does not explain does.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "matrix/numerics/steps/match.hpp"
#include "matrix/verdict/atlas/operator_atlas.hpp"

namespace reprobench {

enum class OrderChangeWord { same, other, unknown, broken };

// One output of a call, or a call that has no output on record.
struct OrderChange {
  std::string output;  // empty: the call as a whole
  OrderChangeWord word = OrderChangeWord::unknown;
  std::string measured;  // the orders' names; empty: not known
  std::string expected;
  std::string why;  // of `unknown` and `broken`: one sentence
};

struct CallOrderChanges {
  std::string call;
  std::string library;  // "MKL", "MKL, against oneDNN"; "not known: ..."
  std::vector<OrderChange> outputs;
};

// Every call of the atlas once, in its order. An output that one side alone has, or a call that one side did not make,
// is not known.
std::vector<CallOrderChanges> order_changes(const OperatorAtlas& atlas, std::size_t measured, std::size_t expected);

// The outputs of one call by their names on either side. Never empty.
std::vector<OrderChange> paired_orders(const CallComparison& measured, const CallComparison& expected);

// *differs* if one output has another order or is broken; else *not_comparable* if one is not known, or there is none.
Match word_of(const std::vector<CallOrderChanges>& changes);

}  // namespace reprobench

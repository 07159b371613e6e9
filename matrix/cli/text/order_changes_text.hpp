// What changed between two stacks in orders of summation, as one page for people.
#pragma once

#include <cstddef>
#include <string>

#include "matrix/verdict/atlas/order_changes.hpp"

namespace reprobench {

// Changes by the library that computes the call, then what did not change, counted by operator, and what is not known,
// with the reasons. With `only_changed` the latter two are counts alone.
std::string order_changes_text(const OperatorAtlas& atlas, std::size_t measured, std::size_t expected,
                               bool only_changed = false);

// "orders: 14 other, 73 the same, 12 not known"
std::string order_count_text(const std::vector<CallOrderChanges>& changes);

}  // namespace reprobench

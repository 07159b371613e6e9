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

// "99 outputs: 14 add in another order, 73 in one, 12 are not known"
std::string order_count_text(const std::vector<CallOrderChanges>& changes);

}  // namespace reprobench

// An output that a stack computes in one of two ways, each of which has forms: the second one's stand behind those of
// the first.
#pragma once

#include <memory>

#include "matrix/orders/formed_output.hpp"

namespace reprobench {

// Both have the same units and elements, and begin with the same outputs, by their names.
std::shared_ptr<const FormedOutput> either_output(std::shared_ptr<const FormedOutput> first,
                                                  std::shared_ptr<const FormedOutput> second);

}  // namespace reprobench

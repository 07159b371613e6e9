// The order in which each call adds up its outputs, by stack, as text for people.
#pragma once

#include <string>

#include "matrix/verdict/atlas/operator_atlas.hpp"

namespace reprobench {

// Outputs whose order differs between stacks, each with the stacks that share an order. With `with_equal` all outputs
// whose order is known on some stack. At the end come the outputs that are equal everywhere, and those that are not
// known, with the reasons.
std::string orders_text(const OperatorAtlas& atlas, bool with_equal);

}  // namespace reprobench

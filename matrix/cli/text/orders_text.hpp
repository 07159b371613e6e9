// In which order each call adds up its outputs, by stack, as people read it.
#pragma once

#include <string>

#include "matrix/verdict/atlas/operator_atlas.hpp"

namespace reprobench {

// Outputs whose order is not one and the same on every stack, each with the stacks that share an order; `with_equal`:
// all outputs whose order is known on some stack. At the end what is equal everywhere and what is not known, with the
// reasons.
std::string orders_text(const OperatorAtlas& atlas, bool with_equal);

}  // namespace reprobench

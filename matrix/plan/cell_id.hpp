// The identity of a cell. cell_id_of() itself is declared in plan.hpp.
#pragma once

#include <string>

#include "matrix/contract/request.hpp"

namespace reprobench {

// canonical_request(request).dump() with every knob, written straight into text: a plan of 100,000 cells spends its
// time here. A test holds the two equal.
std::string canonical_text(const CellRequest& request);

}  // namespace reprobench

// A cell's note on library code, if other code computed its training than its reference's.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/result.hpp"

namespace reprobench {

// "other library code than the reference's computed 2 operations: aten::mm ... against ..."; "library code: the
// expected side has no record ..." if one of the two tells nothing. Empty: nothing on record changed.
std::vector<std::string> implementation_notes(const CellResult& cell, const CellResult& reference);

}  // namespace reprobench

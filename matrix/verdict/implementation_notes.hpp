// What a cell's notes say where other library code computed its training than its reference's.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/result.hpp"

namespace reprobench {

// "other library code than the reference's computed 2 operations: aten::mm ... against ..."; "library code: the
// expected side has no record ..." where one of the two tells nothing. Empty: nothing changed that is on record.
std::vector<std::string> implementation_notes(const CellResult& cell, const CellResult& reference);

}  // namespace reprobench

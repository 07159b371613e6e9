// The text of `bisect`.
#pragma once

#include <string>

#include "matrix/inquiry/bisect/bisect_document.hpp"

namespace reprobench {

// The row that says of which cell, run and bound the check is.
std::string asked_text(const AskedCheck& asked);

// One line for each evaluation: "  [3] torch-2.11.0-cu130: as the bad end".
std::string evaluation_line(std::size_t number, const std::string& stack, const PointEvaluation& evaluation);

std::string bisect_text(const BisectDocument& document);

}  // namespace reprobench

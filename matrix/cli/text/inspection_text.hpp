// The text of `reprobench image inspect`, for people.
#pragma once

#include <string>

#include "matrix/cli/text/terminal.hpp"
#include "matrix/image/inspection.hpp"

namespace reprobench {

std::string inspection_text(const Inspection& inspection, const Terminal& terminal);

}  // namespace reprobench

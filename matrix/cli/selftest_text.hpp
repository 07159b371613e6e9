// The rows of a selftest as a table for the terminal.
#pragma once

#include <string>
#include <vector>

#include "matrix/cli/terminal.hpp"
#include "matrix/inquiry/selftest.hpp"

namespace reprobench {

std::string to_text(const std::vector<SelftestRow>& rows, const Terminal& terminal);

}  // namespace reprobench

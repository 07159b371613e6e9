// The rows of a selftest as a table for the terminal.
#pragma once

#include <string>
#include <vector>

#include "matrix/cli/text/terminal.hpp"
#include "matrix/contract/exit_code.hpp"
#include "matrix/inquiry/selftest/selftest.hpp"

namespace reprobench {

// Begins with a line that says what this is not: faults are planted here, so nothing follows for the stack.
std::string to_text(const std::vector<SelftestRow>& rows, const SelftestSettings& settings, const Terminal& terminal);

// `failed` if a row did not pass; `undecided` if nothing was tested, because no planted fault, or none of a kind that
// was asked for by name, changed a bit.
ExitCode exit_code_of(const std::vector<SelftestRow>& rows, const SelftestSettings& settings);

}  // namespace reprobench

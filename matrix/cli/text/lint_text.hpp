// The findings of `reprobench lint` as text for the terminal, at most 80 columns wide except for long names.
#pragma once

#include <string>

#include "matrix/cli/text/terminal.hpp"
#include "matrix/lint/lint_document.hpp"

namespace reprobench {

std::string lint_text(const LintDocument& document, const Terminal& terminal);

}  // namespace reprobench

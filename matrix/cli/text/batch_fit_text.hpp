// The text of `describe workload --max-batch`.
#pragma once

#include <string>

#include "matrix/contract/exit_code.hpp"
#include "matrix/plan/batch_fit.hpp"

namespace reprobench {

std::string batch_fit_text(const BatchFit& fit);

// The exit code. 0: a batch fits, or the named batch or a way to train it does; 1: none fits; 3: nobody can predict it.
ExitCode exit_code_of(const BatchFit& fit);

}  // namespace reprobench

// What `describe workload --max-batch` says.
#pragma once

#include <string>

#include "matrix/contract/exit_code.hpp"
#include "matrix/plan/batch_fit.hpp"

namespace reprobench {

std::string batch_fit_text(const BatchFit& fit);

// 0: a batch fits, of one that was named that batch or a way to train it; 1: none does; 3: nobody can predict it.
ExitCode exit_code_of(const BatchFit& fit);

}  // namespace reprobench

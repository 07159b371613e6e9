// What each stack of a run declared, was compiled against and really loaded.
#pragma once

#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// One entry for each stack of the plan, by name. The fingerprint is that of its first completed attempt.
std::vector<StackEnvironment> environments_of(const RunRecord& run);

}  // namespace reprobench

// What each stack of a run declared, was compiled against and really loaded.
#pragma once

#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// One entry a stack of the plan, by name; the fingerprint is that of its first completed attempt.
std::vector<StackEnvironment> environments_of(const RunRecord& run);

// Every disagreement between what a stack declares and what a worker of it compiled against and loaded.
std::vector<std::string> version_findings(const std::map<std::string, std::string>& declared,
                                          const Fingerprint& fingerprint);

}  // namespace reprobench

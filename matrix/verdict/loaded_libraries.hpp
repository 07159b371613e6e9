// Did a worker load the libraries that are installed of its stack? Versions do not tell: a patched library, another
// copy of a release and a program's preloaded library all say the version that was declared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matrix/evidence/run_record.hpp"

namespace reprobench {

// One sentence on each library that is not what the stack's manifest says, and on those of which nothing is known.
std::vector<std::string> wrong_libraries(const InstalledLibraries& installed, const Fingerprint& loaded);

// What the workers of this cell loaded, in every rank of every attempt that told it; each sentence once. Nothing is
// asked of a stack that was not installed where the run was made.
std::vector<std::string> wrong_libraries(const Plan& plan, const Cell& cell,
                                         const std::vector<const AttemptRecord*>& attempts);

// Why two stacks are one: they loaded the same torch. Two that declare one torch may do so where another library of a
// stack differs between them. Empty: they are two, or one of them did not tell.
std::string same_libraries(const Fingerprint& measured, const Fingerprint& expected, bool declare_one_torch);

}  // namespace reprobench

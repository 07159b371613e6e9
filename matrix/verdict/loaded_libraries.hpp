// Did a worker load the installed libraries of its stack? Versions do not tell: a patched library, another copy of a
// release and a program's preloaded library all say the version that was declared.
#pragma once

#include <string>
#include <vector>

#include "matrix/evidence/run_record.hpp"

namespace reprobench {

// One sentence for each library that differs from the stack's manifest, and one for those of which nothing is known.
std::vector<std::string> wrong_libraries(const InstalledLibraries& installed, const Fingerprint& loaded);

// Checks the libraries of this cell's workers, in every rank of every attempt that listed them. Each sentence is given
// once. A stack that was not installed where the run was made is not checked.
std::vector<std::string> wrong_libraries(const Plan& plan, const Cell& cell,
                                         const std::vector<const AttemptRecord*>& attempts);

// Why two stacks are the same: they loaded the same torch. Two stacks that declare the same torch may load it, if
// another library differs between them. Empty: they are different, or one of them did not tell.
std::string same_libraries(const Fingerprint& measured, const Fingerprint& expected, bool declare_one_torch);

}  // namespace reprobench

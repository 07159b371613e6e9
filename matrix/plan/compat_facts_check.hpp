// Facts that contradict each other are refused when the file is read: one of two such rows would be believed.
#pragma once

#include "matrix/plan/compat_facts.hpp"

namespace reprobench {

// Throws ContractError naming both sides: of two rows for the same, of rows that cannot both be so, and of a row
// without a source that the file knows.
void check_compat_facts(const CompatFacts& facts);

}  // namespace reprobench
